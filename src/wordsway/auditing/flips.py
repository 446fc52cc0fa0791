"""Labels: how often does an edit change the label of a classifier?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wordsway.auditing.scores import Measured, Share, intervals


@dataclass(frozen=True)
class FlipScore:
    """How often edits of one kind change the label of a classifier, with the 95 % interval over
    texts; ``should`` is "flip" or "stay" for kinds that should or should not, "" for others.
    ``by_rule``: rules made the edits. ``assumed``: "flip" is only the default for these edits, many
    of which need not change the label. ``before``: the labels before the edit, with their numbers.
    """

    kind: str
    should: str
    texts: int
    flips: float
    low: float
    high: float
    by_rule: bool = False
    assumed: bool = False
    before: Mapping[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """The number of labels that change."""
        return round(self.flips * self.texts)

    def share(self, what: str) -> Share:
        """The share of labels that change ("flips") or that do not ("stays")."""
        if what == "flips":
            return Share(self.texts, self.flips, self.low, self.high)
        return Share(self.texts, 1 - self.flips, 1 - self.high, 1 - self.low)


def flip_scores(
    measured: Sequence[Measured], flip: Sequence[str], stay: Sequence[str], assumed: bool = False
) -> tuple[FlipScore, ...]:
    """Return the share of changed labels per kind; meaning-preserving edits should change none.
    ``assumed``: ``flip`` is the default, and the edits are not the user's.
    """
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    written = {edit.kind for text in measured for edit in text.edits if not edit.by_rule}
    for text in measured:
        for edit, effect in zip(text.edits, text.changes, strict=True):
            if effect.label is not None:
                stays = edit.role == "keeping" or edit.kind in stay
                should = "flip" if edit.kind in flip else "stay" if stays else ""
                found.setdefault((edit.kind, should), []).append(
                    (float(effect.label != effect.edited_label), effect.label)
                )
    scores = []
    order = {"flip": 0, "": 1, "stay": 2}
    for (kind, should), values in sorted(found.items(), key=lambda one: order[one[0][1]]):
        (one,) = intervals(np.array([[flips] for flips, _ in values]))
        doubt = kind not in written, assumed and should == "flip"
        before = dict(Counter(label for _, label in values).most_common())
        scores.append(FlipScore(kind, should, len(values), *one, *doubt, before))
    return tuple(scores)
