"""The attention of one layer of a pretrained model: its matrices, inputs and outputs.

Which linear maps make queries, keys, values and the output is found by their names (`NAMES`), fused
ones (GPT-2's ``c_attn``, ModernBERT's ``Wqkv``) included; the number of heads comes from the
model's configuration. Everything else about attention differs between models, so nothing here is
assumed: `LayerReader.passed` also gives the rows that went in and came out on a text, and a map
made of the matrices has to reproduce them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.models.probe import Probe
from wordsway.models.tracing import Arguments, EntryPoint, first_tensor, hooked

#: What the parts are called, in the models that transformers has.
NAMES = {
    "query": ("query", "q_proj", "q_lin", "q"),
    "key": ("key", "k_proj", "k_lin", "k"),
    "value": ("value", "v_proj", "v_lin", "v"),
    "fused": ("c_attn", "Wqkv", "query_key_value", "qkv_proj", "qkv"),
    "out": ("o_proj", "out_proj", "out_lin", "c_proj", "Wo", "dense", "o"),
}


@dataclass(frozen=True)
class Linear:
    """y = W·x + w; the weights stay in the model's precision and are used in float64."""

    weight: torch.Tensor
    bias: torch.Tensor | None

    @property
    def matrix(self) -> torch.Tensor:
        return self.weight.detach().double().cpu()

    @property
    def shift(self) -> torch.Tensor | None:
        return None if self.bias is None else self.bias.detach().double().cpu()

    def rows(self, which: torch.Tensor | slice) -> Linear:
        return Linear(self.weight[which], None if self.bias is None else self.bias[which])


def linear_of(module: torch.nn.Module | None) -> Linear | None:
    """A module as a linear map, if it is one; GPT-2's Conv1D keeps the transpose."""
    transposed = type(module).__name__ == "Conv1D"
    if not (isinstance(module, torch.nn.Linear) or transposed):
        return None
    weight, bias = (getattr(module, name) for name in ("weight", "bias"))
    return Linear(weight.detach().T if transposed else weight.detach(), bias)


@dataclass(frozen=True)
class AttentionIO:
    """Inputs and outputs of one layer's attention, (n, d) each, in float64."""

    inputs: torch.Tensor
    outputs: torch.Tensor


class LayerReader:
    """The attention of layer 1 … L of a model: ``query``, ``key``, ``value`` and ``out``, with
    ``heads`` heads of queries that share ``key_heads`` heads of keys and values; ``base`` is
    RoPE's, None where the model names none.
    """

    def __init__(self, probe: Probe, layer: int) -> None:
        if not 1 <= layer <= probe.layers.count:
            raise InputError(
                f"a layer from 1 to {probe.layers.count}", layer, "layer 0 has no attention"
            )
        self.probe, self.layer = probe, layer
        config = probe.layers.model.config
        self._call = 1
        first, self._out = self._modules()
        self._first = first[0]
        *parts, out = [
            found for one in (*first, self._out) if (found := linear_of(one)) is not None
        ]
        heads = int(_named(config, "num_attention_heads", "n_heads", "n_head", "num_heads"))
        shared = int(getattr(config, "num_key_value_heads", None) or heads)
        if len(parts) == 1:
            width = out.weight.shape[1] // heads
            ends = [heads * width, (heads + shared) * width, (heads + 2 * shared) * width]
            parts = [parts[0].rows(slice(a, b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.query, self.key, self.value, self.out = *parts, out
        self.heads, self.key_heads, self.base = heads, shared, _base_of(config, layer)

    def _modules(self) -> tuple[list[torch.nn.Module], torch.nn.Module]:
        """The modules that make queries, keys and values (or all in one), and the output."""
        model = self.probe.layers.model
        found = _attentions(model)
        in_order = len(found) == self.probe.layers.count
        for place, (first, out) in enumerate(found, 1):
            numbers = self.probe.layers.layers_of(first[0]) or ([place] if in_order else [])
            if self.layer in numbers:
                self._call = numbers.index(self.layer) + 1  # layers may share their weights
                return first, out
        raise _uncovered(
            self.probe,
            f"layer {self.layer} has no attention, or one whose parts have unknown names",
        )

    @torch.no_grad()
    def passed(self, ids: torch.Tensor) -> AttentionIO:
        """The rows of a text, given as token ids (n,), before and after this layer's attention."""
        inputs: dict[EntryPoint, torch.Tensor] = {}
        outputs: dict[EntryPoint, torch.Tensor] = {}

        def before(entry: EntryPoint, arguments: Arguments) -> None:
            inputs[entry] = first_tensor(arguments)

        model, ids = self.probe.layers.model, ids[None].to(self.probe.layers.device)
        with hooked([self._first, self._out], before, outputs.__setitem__):
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
        taken = inputs.get(EntryPoint(self._first, self._call))
        given = outputs.get(EntryPoint(self._out, self._call))
        if taken is None or given is None:
            raise _uncovered(self.probe, "its attention is not called once per layer")
        rows = [part.reshape(ids.shape[1], -1) for part in (taken, given)]
        return AttentionIO(*(part.to("cpu", torch.float64) for part in rows))


def _attentions(model: Any) -> list[tuple[list[torch.nn.Module], torch.nn.Module]]:
    """Every module of a model with its own queries, keys and values, and its output."""
    found = []
    parents: dict[torch.nn.Module, torch.nn.Module] = {}
    for module in model.modules():
        for child in module.children():
            parents[child] = module
    for module in model.modules():
        children = dict(module.named_children())
        parts = [_child(children, part) for part in ("query", "key", "value")]
        first = [part for part in parts if part is not None]
        fused = _child(children, "fused")
        if len(first) != 3:
            first = [] if fused is None else [fused]
        if not first:
            continue
        out = _child(children, "out")
        if out is None and module in parents:  # BERT's output is its attention's neighbour
            beside = dict(parents[module].named_children()).get("output")
            out = None if beside is None else _child(dict(beside.named_children()), "out")
        if out is not None:
            found.append((first, out))
    return found


def _child(children: dict[str, torch.nn.Module], part: str) -> torch.nn.Module | None:
    """The child with one of a part's names that is a linear map."""
    named = [children.get(name) for name in NAMES[part]]
    return next((module for module in named if linear_of(module) is not None), None)


def _named(config: Any, *names: str) -> Any:
    """The first of these entries that a configuration has."""
    for name in names:
        value = getattr(config, name, None)
        if value is not None:
            return value
    raise InputError(
        "a configuration that says how many heads there are", type(config).__name__, "report it"
    )


def _base_of(config: Any, layer: int) -> float | None:
    """The base of RoPE's wavelengths, where a configuration has one for this layer."""
    named = getattr(config, "rope_parameters", None) or {}
    if named and "rope_theta" not in named:  # one entry per kind of layer
        kinds = getattr(config, "layer_types", None)
        named = named.get(kinds[layer - 1], {}) if kinds else {}
    value = (named or {}).get("rope_theta", getattr(config, "rope_theta", None))
    return None if value is None else float(value)


def _uncovered(probe: Probe, why: str) -> InputError:
    return InputError(
        "a model whose attention can be read", f"{probe.files.name}: {why}", "report the model"
    )
