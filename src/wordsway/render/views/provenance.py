"""Where numbers come from: model, seed, time, memory and versions of any result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wordsway.core.format import format_bytes, format_seconds
from wordsway.core.result import Result


def model_name(model: Mapping[str, Any]) -> str:
    return str(model.get("model") or model.get("name") or "unnamed model")


def provenance(result: Result, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Everything needed to get the numbers again, as far as the result knows it: the model, what
    ``more`` has to say, then seed, time, memory and versions.
    """
    model = getattr(result, "model", None)
    facts: dict[str, str] = {}
    if isinstance(model, Mapping):
        facts["model"] = model_name(model)
        facts |= {
            name.replace("_", " "): value if isinstance(value, str) else _spelled(value)
            for name, value in model.items()
            if name not in ("model", "name") and value is not None
        }
    facts |= more or {}
    known = result.to_dict()
    for name, spell in _FACTS.items():
        value = getattr(result, name, known.get(name))
        if value is not None:
            facts[_NAMES.get(name, name)] = spell(value)
    return facts


def _spelled(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


_NAMES = {"seconds": "time", "peak_mb": "peak memory"}
_FACTS: dict[str, Any] = {
    "seed": str,
    "seconds": format_seconds,
    "peak_mb": lambda megabytes: format_bytes(megabytes * 1e6),
    "versions": _versions,
}
