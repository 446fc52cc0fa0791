"""Requests of the page: type and size of every field are checked before a worker gets it.

What depends on the model (its layers, the length of a text) is checked by the worker.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

#: A name of the catalogue, a hub id or a folder; `Settings.models` restricts it.
Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Short = Annotated[str, StringConstraints(min_length=1, max_length=60)]
Text = Annotated[str, StringConstraints(max_length=8_000, pattern=r"\S")]
#: What these patterns of fields mean, for error messages.
PATTERNS = {
    r"\S": "a text that is not empty",
    r"^(last|input|[0-9]{1,3})$": "last, input or the number of a layer",
    r"^(last|[0-9]{1,3})$": "last or the number of a layer",
    r"^(mean|[0-9]{1,3})$": "mean or the number of a head",
}
Layer = Annotated[str, StringConstraints(pattern=r"^(last|input|[0-9]{1,3})$")]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Tier = Literal["mean-local", "local", "real-words", "curve"]
Ending = Literal["json", "csv", "svg"]


class PageRequest(BaseModel):
    """Strict: no unknown fields, no conversions, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @field_validator("*")
    @classmethod
    def whole_characters(cls, value: object) -> object:
        """Refuse lone surrogates."""
        if isinstance(value, str):
            value.encode("utf-8")
        return value


class TextRequest(PageRequest):
    """One text in one model."""

    text: Text
    model: Name = "minilm"
    seed: Seed = 0


class TargetRequest(TextRequest):
    """One text in one model, and what moves."""

    layer: Layer = "last"
    target: Literal["layer", "all", "pooled", "cosine", "logits", "next-token"] = "layer"
    cut: bool = False


class PageWordsRequest(TargetRequest):
    """How far each word moves the model; ``other`` is a second text to compare with."""

    other: Text | None = None
    tiers: Annotated[list[Tier], Field(min_length=1, max_length=4)] | None = None
    colour: Tier | None = None


class WordRequest(TargetRequest):
    """Everything about one word: its curve, its profile, its real words."""

    index: Annotated[int, Field(ge=0, lt=10_000)]


class AttentionRequest(TextRequest):
    """Attention before and after a Δ that draws it to a word; the last one where none is named."""

    word: Annotated[int, Field(ge=0, lt=10_000)] | None = None
    layer: Annotated[str, StringConstraints(pattern=r"^(last|[0-9]{1,3})$")] = "1"
    head: Annotated[str, StringConstraints(pattern=r"^(mean|[0-9]{1,3})$")] = "mean"
    reach: Annotated[float, Field(gt=0, le=3, strict=False)] = 1.0


class MapRequest(PageRequest):
    """A map of the registry with its options."""

    map: Short
    options: Annotated[dict[Short, bool | int | float | Short], Field(max_length=16)] = Field(
        default_factory=dict
    )


class TheoryRequest(PageRequest):
    """S of random maps at several n."""

    maps: Annotated[list[MapRequest], Field(min_length=1, max_length=8)]
    n: Annotated[list[Annotated[int, Field(ge=1, le=512)]], Field(min_length=1, max_length=16)]
    d: Annotated[int, Field(ge=1, le=1024)] = 64
    data: Literal["gaussian", "imdb"] = "gaussian"
    trials: Annotated[int, Field(ge=1, le=20)] = 3
    seed: Seed = 0


class FolderRequest(PageRequest):
    """An audit by its folder."""

    folder: Name


class PageAuditRequest(FolderRequest):
    """A new audit."""

    models: Annotated[list[Name], Field(min_length=1, max_length=4)]
    data: Literal["gold", "everyday", "medical", "legal", "finance", "support", "imdb"] = "gold"
    #: A table of the user's own, as the text of a CSV file; it takes the place of ``data``.
    table: Annotated[str, Field(max_length=2_000_000)] | None = None
    kinds: Annotated[list[Short], Field(min_length=1, max_length=16)] | None = None
    texts: Annotated[int, Field(ge=4, le=200)] = 20
    seed: Seed = 0


class PageLengthRequest(PageRequest):
    """One word in texts of growing length."""

    models: Annotated[list[Name], Field(min_length=1, max_length=3)]
    data: Literal["imdb", "gold", "everyday", "medical", "legal", "finance", "support"] = "imdb"
    edit: Short = "negation"
    texts: Annotated[int, Field(ge=8, le=200)] = 16
    host: Literal["own", "filler"] | None = None
    place: Literal["own", "beginning", "middle", "end"] = "own"
    level: Annotated[float, Field(gt=0, le=2, strict=False)] = 0.05
    baselines: bool = False
    seed: Seed = 0


class EmptyRequest(PageRequest):
    """No fields."""


class FileRequest(PageRequest):
    """The file that a place exports."""

    ending: Ending
    words: PageWordsRequest | None = None
    attention: AttentionRequest | None = None
    theory: TheoryRequest | None = None
    audit: FolderRequest | None = None
    length: PageLengthRequest | None = None

    @property
    def place(self) -> str:
        return next(name for name in PLACES if getattr(self, name))

    @model_validator(mode="after")
    def one_place(self) -> FileRequest:
        if sum(getattr(self, name) is not None for name in PLACES) != 1:
            raise ValueError("request the file of exactly one place")
        return self


#: Places on the page: each is a module here with its tasks, and a module of assets/ that draws it.
PLACES = ("words", "attention", "theory", "audit", "length")
#: Every request by its path below /api/: its fields, and the worker that answers it.
REQUESTS: dict[str, tuple[type[PageRequest], str]] = {
    "words": (PageWordsRequest, "models"),
    "word": (WordRequest, "models"),
    "attention": (AttentionRequest, "models"),
    "maps": (EmptyRequest, "maps"),
    "theory": (TheoryRequest, "maps"),
    "audits": (EmptyRequest, "maps"),
    "audit": (FolderRequest, "maps"),
    "audit/start": (PageAuditRequest, "audits"),
    "length/kinds": (EmptyRequest, "maps"),
    "length": (PageLengthRequest, "audits"),
}
