"""What was asked about one text: checked before a model is loaded, then measured or forecast."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wordsway.core.errors import InputError, positive
from wordsway.core.progress import Progress

if TYPE_CHECKING:
    from wordsway.models.probe import Probe
    from wordsway.probing.forecasting import Cost
    from wordsway.probing.results import Words, WordSway


@dataclass(frozen=True)
class Request:
    """What was asked about one text; None leaves a choice to its default."""

    layer: str
    target: str
    tiers: tuple[str, ...] | None
    colour: str | None
    only: list[str | int] | None
    reach: float | None
    at: str
    scaling: str
    passes: int | None
    draws: int | None
    twin: bool
    cut: bool
    effort: float
    memory: int

    def check(self) -> None:
        """Refuse what no model can answer, before one is loaded."""
        from wordsway.models.probe import EMBEDDING_STAGES
        from wordsway.probing.inputs import check
        from wordsway.probing.targets import check_target
        from wordsway.probing.words import chosen_tiers

        check(1.0 if self.reach is None else self.reach, self.effort, self.memory)
        check_target(self.layer if self.target == "layer" else self.target, self.scaling)
        chosen_tiers(self.tiers, self.colour, self.reach)
        for name in ("passes", "draws"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        if self.at not in EMBEDDING_STAGES:
            raise InputError(
                f"a place among {', '.join(EMBEDDING_STAGES)}",
                repr(self.at),
                "words moves rows of the embedding matrix",
            )

    @property
    def counts(self) -> dict[str, Any]:
        named = {"passes": self.passes, "draws": self.draws}
        return {name: value for name, value in named.items() if value is not None}

    def words(self, text: str, probe: Probe, seed: int, progress: Progress) -> Words:
        from wordsway.probing.words import words

        return words(
            text,
            probe,
            layer=self.layer,
            target=self.target,
            tiers=self.tiers,
            colour=self.colour,
            word=self.only,
            reach=self.reach,
            at=self.at,
            scaling=self.scaling,
            twin=self.twin,
            cut=self.cut,
            seed=seed,
            effort=self.effort,
            memory=self.memory,
            progress=progress,
            **self.counts,
        )

    def forecast(self, text: str, probe: Probe, swaps: int) -> Cost:
        from wordsway.probing.forecasting import forecast

        return forecast(
            text,
            probe,
            layer=self.layer,
            target=self.target,
            tiers=self.tiers,
            colour=self.colour,
            only=self.only,
            reach=self.reach,
            at=self.at,
            twin=self.twin,
            swaps=swaps,
            cut=self.cut,
            effort=self.effort,
            memory=self.memory,
            **self.counts,
        )


def with_swaps(
    result: Words, probe: Probe, count: int, seed: int, memory: int, progress: Progress
) -> Words:
    """The result with the worst real words of its ``count`` words with the largest numbers."""
    from wordsway.probing.swap import swap

    def value(word: WordSway) -> float:
        pair = word.score(result.tier)
        return -1.0 if pair is None else pair[0]

    found = []
    for word in sorted(result.words, key=lambda word: -value(word))[:count]:
        with suppress(InputError):  # nothing else can stand there: a sign that touches a word
            found.append(
                swap(
                    result.text,
                    word.index,
                    probe,
                    target=result.target,
                    worst_case=False,
                    scaling=result.scaling,
                    seed=seed,
                    memory=memory,
                    progress=progress,
                )
            )
    return replace(result, swaps=tuple(found))
