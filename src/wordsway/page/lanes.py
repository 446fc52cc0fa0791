"""The lanes of a server: which processes there are, and what each may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wordsway.page.lane import Lane
from wordsway.page.settings import Settings

#: An audit of many texts may take this long; what is done is kept.
AUDIT_SECONDS = 3600.0


def lanes_of(settings: Settings, start: Callable[..., None]) -> dict[str, Lane]:
    """Pretrained models, random maps, audits; ``start`` loads a lane's tasks by name
    (`wordsway.page.tasks`).
    """
    desk: dict[str, Any] = {
        "models": settings.models,
        "most_models": settings.limits.models,
        "store": settings.store,
        "audits": settings.audits,
    }
    patient = replace(settings.limits, seconds=AUDIT_SECONDS, queue=2)
    return {
        "models": Lane(start, ("MODELS", desk, None), settings.limits),
        "cells": Lane(start, ("CELLS", desk, 1), settings.limits),
        "audits": Lane(start, ("AUDITS", desk, 1), patient, lazy=True),
    }
