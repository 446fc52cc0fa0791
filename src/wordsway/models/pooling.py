"""From a layer's rows to one vector per text, as the model's own configuration says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from wordsway.errors import InputError, first_line

#: "mean" over all rows, special tokens included; the first row ("cls"); the last one ("last").
Pooling = Literal["mean", "cls", "last", "max"]
#: Where sentence-transformers keeps it, and how it spells it (one key per way, or one word).
CONFIGURATION = Path("1_Pooling") / "config.json"
_SWITCHES: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_SPELLINGS: dict[str, Pooling] = {"lasttoken": "last", "mean_tokens": "mean", "cls_token": "cls"}


def pooling_of(folder: Path) -> Pooling:
    """The pooling of a model's folder; "mean" where it does not say."""
    path = folder / CONFIGURATION
    if not path.is_file():
        return "mean"
    try:
        settings = dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"a JSON object in {path}",
            first_line(error),
            "save the model again, or remove the file",
        ) from None
    chosen = _chosen(settings)
    if len(chosen) != 1 or chosen[0] not in get_args(Pooling):
        raise InputError(
            f"one way of pooling among {', '.join(get_args(Pooling))} in {path}",
            ", ".join(chosen) or "none",
            "choose one in that file, or remove it (the mean is then taken)",
        )
    return chosen[0]  # type: ignore[return-value]


def pool(states: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """One vector (…, d) per text from its rows (…, n, d), none of them padding.

    >>> pool(torch.tensor([[1.0, 2.0], [3.0, 6.0]]), "mean").tolist()
    [2.0, 4.0]
    """
    if pooling == "mean":
        return states.mean(dim=-2)
    if pooling == "max":
        return states.amax(dim=-2)
    return states[..., 0 if pooling == "cls" else -1, :]


def _chosen(settings: dict[str, Any]) -> list[str]:
    named = settings.get("pooling_mode")
    if isinstance(named, str):
        return [_SPELLINGS.get(named, named)]
    switched = [name for name, value in settings.items() if value is True]
    return [_SWITCHES.get(name, name) for name in switched if name.startswith("pooling_mode_")]
