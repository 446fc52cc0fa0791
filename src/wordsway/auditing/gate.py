"""A gate for continuous integration: scores that must not be undercut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wordsway.auditing.result import ModelAudit
from wordsway.core.errors import InputError


class Floors(dict[str, float]):
    """The least score per kind; "all" means every kind that has none of its own."""

    def check(self, kinds: Sequence[str]) -> None:
        """Refuse kinds that are not measured."""
        for kind in self:
            if kind not in (*kinds, "all"):
                raise InputError(
                    f"a kind that is measured ({', '.join(kinds)}) or all", repr(kind), "check it"
                )


def parse_gate(fail_under: Mapping[str, float] | Sequence[str]) -> Floors:
    """The floors of {"negation": 0.7}, or of "negation=0.7" as a command line has it.

    >>> parse_gate(["negation=0.7", "all=0.5"])
    {'negation': 0.7, 'all': 0.5}
    """
    if isinstance(fail_under, Mapping):
        pairs = [(kind, str(floor)) for kind, floor in fail_under.items()]
    else:
        pairs = [(text.partition("=")[0], text.partition("=")[2]) for text in fail_under]
    floors = Floors()
    for kind, floor in pairs:
        try:
            floors[kind.strip()] = float(floor)
        except ValueError:
            floors[kind.strip()] = -1.0
        if not kind.strip() or not 0 <= floors[kind.strip()] <= 1:
            raise InputError(
                "KIND=X with X between 0 and 1", repr(f"{kind}={floor}"), "negation=0.7, say"
            )
    return floors


def below(floors: Floors, league: Sequence[ModelAudit]) -> Iterator[str]:
    """One line for every score that falls short."""
    for model in league:
        for score in model.kinds:
            floor = floors.get(score.kind, floors.get("all"))
            if floor is not None and score.auc < floor:
                interval = f"{score.low:.3f} to {score.high:.3f}"
                yield f"{model.name}: {score.kind} {score.auc:.3f} ({interval}) is below {floor:g}"
