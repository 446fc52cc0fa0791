"""Calls of a model's modules during a forward pass, observed by hooks in the calling thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from wordsway.core.errors import WordswayError


class EntryPoint(NamedTuple):
    """A call of a module, counted from 1: layers may share one module."""

    module: torch.nn.Module
    call: int


@dataclass(frozen=True)
class Call:
    """One call of a module during a pass: its first input and its output, if they are tensors."""

    module: torch.nn.Module
    number: int
    taken: torch.Tensor | None
    given: torch.Tensor | None

    @property
    def entry(self) -> EntryPoint:
        return EntryPoint(self.module, self.number)


#: The arguments of a call: positional ones, and those by name.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@contextlib.contextmanager
def hooked(
    modules: Iterable[torch.nn.Module],
    before: Callable[[EntryPoint, Arguments], Arguments | None],
    after: Callable[[EntryPoint, Any], None] | None = None,
) -> Iterator[None]:
    """Call ``before`` and ``after`` at every call of these modules in this thread; other threads
    may run the same model meanwhile. The arguments that ``before`` returns replace those of the
    call.
    """
    here = threading.get_ident()
    counts: dict[torch.nn.Module, int] = {}

    def begin(module: torch.nn.Module, positional: Any, named: Any) -> Any:
        if threading.get_ident() != here:
            return None
        counts[module] = counts.get(module, 0) + 1
        return before(EntryPoint(module, counts[module]), (positional, named))

    def end(module: torch.nn.Module, positional: Any, output: Any) -> None:
        if after is not None and threading.get_ident() == here:
            after(EntryPoint(module, counts[module]), output)

    handles = []
    for module in set(modules):
        handles.append(module.register_forward_pre_hook(begin, with_kwargs=True))
        if after is not None:
            handles.append(module.register_forward_hook(end))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def first_tensor(arguments: Arguments) -> Any:
    """Return the first tensor of a call's arguments: its states."""
    positional, named = arguments
    tensors = (one for one in (*positional, *named.values()) if isinstance(one, torch.Tensor))
    return next(tensors, None)


def with_states(arguments: Arguments, states: torch.Tensor) -> Arguments:
    """Return the arguments with other states in place of their first tensor."""
    positional, named = arguments
    for place, value in enumerate(positional):
        if isinstance(value, torch.Tensor):
            return (*positional[:place], states, *positional[place + 1 :]), named
    name = next(name for name, value in named.items() if isinstance(value, torch.Tensor))
    return positional, named | {name: states}


@torch.no_grad()
def trace(model: Any, tokens: int) -> tuple[Sequence[torch.Tensor], list[Call]]:
    """Hidden states (1, n, d) of one pass over ``tokens`` tokens, and every module's calls in the
    order in which they began.
    """
    calls: dict[EntryPoint, Call] = {}

    def before(entry: EntryPoint, arguments: Arguments) -> None:
        calls[entry] = Call(*entry, first_tensor(arguments), None)

    def after(entry: EntryPoint, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            calls[entry] = replace(calls[entry], given=output)

    ids = torch.arange(5, 5 + tokens, device=next(model.parameters()).device)[None]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with hooked((part for part in model.modules() if part is not model), before, after):
        out = model(**inputs, output_hidden_states=True, use_cache=False)
    if not getattr(out, "hidden_states", None):
        raise WordswayError("this model returns no hidden states, so its layers cannot be reached")
    return out.hidden_states, list(calls.values())
