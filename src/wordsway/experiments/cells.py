"""A cell: one point of a grid and one trial. Its content is its name, and its seeds come from
nothing else.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

from wordsway.errors import InputError
from wordsway.experiments.lessons import GaussianLessons, Labelled, Lesson, run_one
from wordsway.experiments.texts import CorpusTexts, GaussianTexts, Source, TextOptions
from wordsway.experiments.trials import Request, run_trial
from wordsway.seeds import derive

#: What a stored cell means; raise it when the same content would give other numbers.
VERSION = 1
#: Fields of cells that learn; others leave them out.
LEARNING = ("train", "update", "loss", "penalty")


@dataclass(frozen=True)
class Cell:
    """What to measure, once: a map and its sizes, the data, which rows may change, the trial, the
    study's seed.
    """

    map: str
    n: int
    d: int
    trial: int = 0
    k: int | None = None
    depth: int | None = None
    positions: str | tuple[int | str, ...] = (0,)
    data: str = "gaussian"
    seed: int = 0
    certificate: bool = True
    effort: float = 1.0
    texts: TextOptions = field(default_factory=TextOptions)
    train: int | None = None
    update: str | None = None
    loss: str | None = None
    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.trial < 0:
            raise InputError("trial ≥ 0", self.trial, "count trials from 0")
        _ = self.request if self.train is None else self.lesson  # checks everything once, here
        if self.train is None and any(
            value is not None for value in (self.update, self.loss, self.penalty)
        ):
            raise InputError(
                "train with update, loss and penalty",
                "none",
                "say how many training texts, or leave the others out",
            )

    @cached_property
    def lesson(self) -> Lesson:
        """For a cell that learns: the request with its training texts, update and loss."""
        if self.train is None:
            raise InputError(
                "a cell that learns", "one that measures", "pass train, update and loss"
            )
        return Lesson(
            self.request,
            self.train,
            self.update or "fine-tune",
            self.loss or "direct",
            self.penalty or 0.0,
        )

    @cached_property
    def request(self) -> Request:
        """The same measurement as a request of one trial, seeded by this cell's own content."""
        return Request(
            self.map,
            self.n,
            self.d,
            self.k,
            self.depth,
            self.positions,
            1,
            self.own_seed,
            self.data,
            self.certificate,
            texts=self.texts,
            effort=self.effort,
        )

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON has it."""
        plain = asdict(self) | {
            "version": VERSION,
            "positions": self.positions
            if isinstance(self.positions, str)
            else list(self.positions),
        }
        if self.data == "gaussian":
            plain.pop("texts")
        return {
            name: value
            for name, value in plain.items()
            if name not in LEARNING or value is not None
        }

    @cached_property
    def key(self) -> str:
        """The cell's name: SHA-256 of its content."""
        return hashlib.sha256(canonical(self.content).encode()).hexdigest()

    @cached_property
    def own_seed(self) -> int:
        """From the study's seed and the cell's content: neither order, nor workers, nor other cells
        matter.
        """
        return derive(self.seed, canonical(self.content))

    @cached_property
    def group(self) -> tuple[Any, ...]:
        """What the cells of one point share: everything but the trial."""
        return tuple(getattr(self, one.name) for one in fields(self) if one.name != "trial")

    def run(self) -> dict[str, Any]:
        """The cell's outputs; see `run_cell`."""
        return run_cell(self)

    @classmethod
    def of(cls, content: dict[str, Any]) -> Cell:
        """The cell of a stored content."""
        plain = {name: value for name, value in content.items() if name != "version"}
        plain["positions"] = (
            plain["positions"] if isinstance(plain["positions"], str) else tuple(plain["positions"])
        )
        plain["texts"] = TextOptions(**plain.get("texts", {}))
        return cls(**plain)


def canonical(content: dict[str, Any]) -> str:
    """The one spelling of a content."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def run_cell(cell: Cell) -> dict[str, Any]:
    """The cell's outputs. One thread, so that they are the same for any number of workers."""
    import torch

    from wordsway.runtime import single_thread

    with single_thread(torch.get_num_threads() > 1):
        if cell.train is not None:
            return run_lesson(cell)
        source: Source
        if cell.data == "gaussian":
            source = GaussianTexts(cell.n, cell.d, cell.own_seed)
            trial, _ = run_trial(cell.request, source, 0)
        else:
            source = _texts(cell.data, cell.n, cell.d, cell.seed, cell.texts)
            trial, _ = run_trial(cell.request, source, 0, text=cell.trial)
    return asdict(trial) | {"source": _provenance(source)}


def run_lesson(cell: Cell) -> dict[str, Any]:
    """A cell that learns: the study's first N texts, and the one after them that the trial names."""
    assert cell.train is not None
    source: Labelled
    if cell.data == "gaussian":
        source = GaussianLessons(cell.n, cell.d, derive(cell.seed, "lessons", cell.n, cell.d))
    else:
        source = _texts(cell.data, cell.n, cell.d, cell.seed, cell.texts)
    trial, _ = run_one(cell.lesson, source, 0, new=cell.train + cell.trial)
    return trial | {"lower": trial["error"], "upper": None, "source": _provenance(source)}


def _provenance(source: Source) -> dict[str, Any]:
    """What a stored cell keeps of its texts' source."""
    about = source.describe()
    kept = ("corpus", "corpus_sha256", "model", "model_sha256", "layer", "cache_version")
    return {name: about[name] for name in kept if name in about}


@lru_cache(maxsize=1)
def _texts(data: str, n: int, d: int, seed: int, options: TextOptions) -> CorpusTexts:
    """Texts by the study's seed: trial t of every cell of a study has the same review.

    Rows of 1,300 texts take 480 MB at n = 120, d = 768, so only the last source is kept; reading
    others back takes a moment.
    """
    return CorpusTexts(data, n, d, seed, 0, options)
