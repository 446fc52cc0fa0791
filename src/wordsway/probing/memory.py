"""How many texts of a batch fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.core.errors import MemoryBudgetError
from wordsway.core.format import format_bytes
from wordsway.models.probe import Probe

#: Tokens of a batch beyond which it gets no faster, and bytes that a search may take beside the
#: model by default.
BATCH_TOKENS, MEMORY = 4096, 2 * 2**30
#: MiniLM's weights besides its embeddings: the unit of what a token costs.
UNIT = 10_600_000


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that one text takes in a pass forwards and backwards, and those that all may take."""

    text: int
    total: int


def weight_of(probe: Probe, layer: int) -> float:
    """What a token costs on its way to a layer and back, in units of MiniLM's last layer."""
    model = probe.layers.model
    inside = sum(weights.numel() for weights in model.parameters())
    inside -= model.get_input_embeddings().weight.numel()
    return max(0.1, int(inside) / UNIT * max(1, layer) / max(1, probe.layers.count))


def row_bytes(probe: Probe, n: int, layer: int) -> int:
    """Bytes that one text takes in a forward and backward pass up to a layer: what autograd keeps.

    Per token and layer about nine rows of the width and three of the feed-forward layer (measured
    on MiniLM); attention in the open also keeps its n×n scores.
    """
    config = probe.layers.model.config
    d = int(getattr(config, "hidden_size", None) or getattr(config, "d_model", None) or 768)
    wide = getattr(config, "intermediate_size", None) or getattr(config, "d_ff", None) or 4 * d
    wide = max(wide) if isinstance(wide, list | tuple) else int(wide)  # Gemma 3n: one per layer
    heads = int(getattr(config, "num_attention_heads", None) or 8)
    size = next(probe.layers.model.parameters()).element_size()
    return int(
        size
        * n
        * max(1, layer)
        * (9 * d + 3 * wide + (3 * heads * n if probe.options.eager else 0))
    )


def memory_budget(probe: Probe, n: int, layer: int, memory: int) -> MemoryBudget:
    """What a search may take: as many texts at a time as are useful and fit."""
    text = row_bytes(probe, n, layer)
    return MemoryBudget(text, text * affordable(probe, n, layer, memory))


def affordable(probe: Probe, n: int, layer: int, memory: int) -> int:
    """Texts per batch of a search, refused where not even one fits."""
    if row_bytes(probe, n, layer) > memory:
        raise MemoryBudgetError(
            f"one text of {n} tokens takes {format_bytes(row_bytes(probe, n, layer))} in a search, "
            f"more than the budget of {format_bytes(memory)}: "
            "raise the budget (--memory, in GiB), or cut the text"
        )
    return at_once(probe, n, layer, memory)


def at_once(probe: Probe, n: int, layer: int, memory: int) -> int:
    """Texts per batch: what fits the memory, and no more than is useful."""
    return max(1, min(memory // row_bytes(probe, n, layer), max(1, BATCH_TOKENS // n)))
