"""What a measurement says: an interval, its witness, and where it came from."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch

from wordsway.version import __version__

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType


@dataclass(frozen=True)
class WordSensitivity:
    """One searched row: ``lower`` was attained, ``upper`` is certified (None where no certificate exists).

    ``index`` is the index of the word in the original text, where the sample knows it: a word of several tokens has
    several rows, special tokens and padding belong to no word.
    """

    position: int
    word: str | None
    lower: float
    upper: float | None
    index: int | None = None


@dataclass(frozen=True)
class Sensitivity:
    """lower ≤ S ≤ upper over the searched words.

    ``lower`` is attained at word ``position`` by ``delta``; check it with ``phi(X.replaced(position, delta))``.
    ``certificate`` says what ``upper`` rests on: "exact" (the actual weights) or "1 − 1e-9" (probability over their draw).
    """

    lower: float
    upper: float | None
    certificate: str | None
    position: int
    delta: torch.Tensor
    words: tuple[WordSensitivity, ...]
    status: str
    seed: int
    seconds: float
    radius: float
    n: int
    d: int
    map: dict[str, Any]
    versions: dict[str, str]

    def by_word(self) -> tuple[WordSensitivity, ...]:
        """One entry per word of the original text: the best of its rows, certified by the largest of their upper ends."""
        words: dict[int, WordSensitivity] = {}
        for row in self.words:
            if row.index is not None:
                before = words.get(row.index, row)
                best = row if row.lower > before.lower else before
                ends = [end for end in (row.upper, before.upper) if end is not None]
                words[row.index] = replace(best, upper=max(ends) if ends else None)
        return tuple(words.values())

    def to_dict(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"delta": self.delta.tolist(), "words": [asdict(word) for word in self.words]}

    def to_json(self, **options: Any) -> str:
        """One JSON document with everything, Δ included."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **options)

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per searched word."""
        import pandas

        return pandas.DataFrame([asdict(word) for word in self.words], columns=[field.name for field in fields(WordSensitivity)])

    def show(self) -> None:
        """Print the result for a person."""
        from rich.console import Console

        Console().print(self.__rich__())

    def __rich__(self) -> RenderableType:
        from wordsway.report.terminal import sensitivity_panel

        return sensitivity_panel(self)

    def _repr_html_(self) -> str:
        from wordsway.report.sensitivity_html import sensitivity_fragment

        return sensitivity_fragment(self)

    def __repr__(self) -> str:
        upper = "no certificate" if self.upper is None else f"{self.upper:.4g} ({self.certificate})"
        return f"Sensitivity(lower={self.lower:.4g}, upper={upper}, position={self.position}, status={self.status!r})"


def versions() -> dict[str, str]:
    """The versions a result depends on."""
    return {"wordsway": __version__, "torch": torch.__version__, "python": platform.python_version()}
