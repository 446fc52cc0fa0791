"""What every medium says of claims and verdicts."""

from __future__ import annotations

from wordsway.paper.finding import OWN, PAPER

#: The tables of findings, in order.
TABLES = {
    PAPER: "What the paper claims, and what was measured",
    OWN: "wordsway’s own checks and studies",
}
HOW_DECIDED = (
    "Intervals are 95 %. A claim agrees where the whole interval satisfies the rule, disagrees "
    "where none of it does, and is undecided otherwise. Where the true value breaks the rule, "
    "“agrees” is printed by chance in at most 1 of 40 cases; the same holds for “disagrees”."
)
