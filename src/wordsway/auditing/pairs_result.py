"""What `pairs` finds: two texts, several models, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from wordsway.auditing.background import Place
from wordsway.auditing.table import Refused
from wordsway.core.result import SequenceResult, fields_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class PairInModel:
    """How far apart a model holds two texts.

    ``cosine`` of the pooled embeddings, ``change`` their relative distance ‖v − u‖/‖u‖,
    ``percentile`` the share of random real words in that place that move the embedding less (in
    percent), ``typical`` the median cosine of those; ``layers`` the relative change of every
    layer's pooled states, ``parts`` the layer in which it grows most; ``tokens`` of both texts
    without special ones, ``unknown`` those of them that the model does not know ([UNK]).
    """

    name: str
    cosine: float
    change: float
    percentile: float | None
    typical: float | None
    layers: tuple[float, ...]
    parts: int
    tokens: int = 0
    unknown: int = 0

    @property
    def doubt(self) -> str:
        """What limits these numbers, in a sentence; "" if nothing does."""
        if not self.unknown:
            return ""
        return (
            f"{self.name} does not know {self.unknown} of the {self.tokens} tokens of these texts "
            "([UNK]): it cannot tell unknown words apart, and its numbers say little"
        )


@dataclass(frozen=True)
class Pair:
    """Two texts: ``before``, at ``start`` of the first, becomes ``after``."""

    a: str
    b: str
    kind: str
    row: int
    place: Place
    models: tuple[PairInModel, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "kind": self.kind,
            "row": self.row,
            **self.place._asdict(),
            "models": [fields_of(one) | {"layers": list(one.layers)} for one in self.models],
        }


@dataclass(frozen=True)
class Pairs(SequenceResult[Pair], items="pairs", brief="names"):
    """Every pair in every model; ``refused`` are the rows that could not be measured."""

    pairs: tuple[Pair, ...]
    models: tuple[dict[str, Any], ...]
    refused: tuple[Refused, ...]
    draws: int
    seed: int
    seconds: float
    versions: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The models, as they were asked for."""
        return [str(model["name"]) for model in self.models]

    def kinds(self) -> list[dict[str, Any]]:
        """Medians per kind and model, in the order in which kinds appear."""
        rows = []
        for kind in dict.fromkeys(pair.kind for pair in self.pairs):
            for number, name in enumerate(self.names):
                here = [pair.models[number] for pair in self.pairs if pair.kind == kind]
                shares = [one.percentile for one in here if one.percentile is not None]
                rows.append(
                    {
                        "kind": kind,
                        "name": name,
                        "pairs": len(here),
                        "cosine": median(one.cosine for one in here),
                        "change": median(one.change for one in here),
                        "percentile": median(shares) if shares else None,
                    }
                )
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": [pair.to_dict() for pair in self.pairs],
            "kinds": self.kinds(),
            "models": list(self.models),
            "refused": [fields_of(one) for one in self.refused],
            "draws": self.draws,
            "seed": self.seed,
            "seconds": self.seconds,
            "versions": self.versions,
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per pair and model."""
        import pandas

        columns = ["row", "a", "b", "kind", "model", "cosine", "change", "percentile", "parts"]
        rows = [
            (pair.row, pair.a, pair.b, pair.kind, *_numbers(one))
            for pair in self.pairs
            for one in pair.models
        ]
        return pandas.DataFrame(rows, columns=columns)


def _numbers(one: PairInModel) -> tuple[Any, ...]:
    return one.name, one.cosine, one.change, one.percentile, one.parts
