"""What the page shows of a stored audit: the fields that audit.json must have."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Stored(BaseModel):
    """Unknown fields are allowed: later versions write more of them."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class StoredKind(_Stored):
    kind: str
    texts: Count
    auc: Share
    low: Share
    high: Share
    blind: Share


class StoredSpot(_Stored):
    kind: str
    text: str
    start: Count
    before: str
    after: str
    change: float
    keeping: str
    keeping_before: str
    keeping_after: str
    keeping_change: float


class StoredModel(_Stored):
    name: str
    mean_auc: Share | None
    kinds: list[StoredKind]
    blind_spots: list[StoredSpot] = []


class StoredAudit(_Stored):
    models: list[StoredModel]
    data: str
    texts: Count
    target: str = "cosine"
    seed: int = 0
    draws: Count = 0
