"""The paper's figures, and its claims next to what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.paper.figure import FAILS, HOLDS, LEAST_TRIALS, OWN, PAPER, TOO_FEW, Finding
from wordsway.paper.reproduce import Reproduction
from wordsway.render import blocks as b
from wordsway.render.views.sweep import tally_line

LEAD = (
    "The figures of “Towards Understanding the Word Sensitivity of Attention Layers” (Bombari and "
    "Mondelli, ICML 2024), measured again: S is the largest relative change of a layer’s features "
    "when one word moves by at most its own norm. Figures 4 and 5 show a consequence: whether a "
    "linear readout of the layer can learn that this word flips the label. Figures 1, 3.3 and 3.4 "
    "are about pretrained models."
)
#: The tables of findings, in order.
TABLES = {
    PAPER: "What the paper claims, and what was measured",
    OWN: "wordsway’s own checks and studies",
}
HOW_DECIDED = (
    "Intervals are 95 %. A claim agrees where the whole interval satisfies the rule, disagrees "
    "where none of it does, and is undecided otherwise. Where the true value breaks the rule, "
    "“agrees” is printed by chance in at most 1 of 40 cases; the same holds for “disagrees”. The "
    "paper’s theorems are asymptotic and set no thresholds at finite n: “our rule” marks those "
    f"that wordsway chose. Fewer than {LEAST_TRIALS} independent draws, counted over all n, give "
    "no verdict."
)
#: What a quick run can do about it.
REMEDY = ": run without --quick"
COLUMNS = (
    b.Column("figure", "text", optional=True),
    b.Column("claim", "prose"),
    b.Column("on", "prose"),
    b.Column("measured [95 % interval]", "prose"),
    b.Column("agrees if", "prose"),
    b.Column("verdict", "prose"),
)
VERDICTS: dict[str, b.Style] = {HOLDS: "good", FAILS: "bad"}


def reproduction_view(result: Reproduction) -> b.ResultView:
    blocks: list[b.Block] = [
        b.Illustration(drawn.title, result.folder / f"{drawn.name}.svg", drawn.caption, drawn.files)
        for drawn in result.figures
    ]
    tables = [
        b.Table(
            COLUMNS,
            [_row(found, result.quick) for found in findings],
            title,
            shown=1000,
            on_page=1000,
        )
        for kind, title in TABLES.items()
        if (findings := [found for found in result.findings if found.source == kind])
    ]
    blocks += [*tables, b.soft(HOW_DECIDED)] if tables else []
    notes = [(drawn.name, drawn.note) for drawn in result.figures if drawn.note]
    blocks += [b.warning(f"Figure {name}: {note}") for name, note in notes]
    blocks += [
        b.soft(tally_line(result.tally, result.folder / "store")),
        b.source(f"the page: {result.page}"),
    ]
    return b.ResultView(
        "How far can one word move a layer?",
        blocks,
        {"command": result.command} | result.facts,
        lead=LEAD + (" A quick subset of the full run." if result.quick else ""),
    )


def _row(found: Finding, quick: bool) -> Sequence[b.Cell]:
    text = found.verdict + (REMEDY if quick and found.verdict == TOO_FEW else "")
    verdict = b.Span(text, VERDICTS.get(found.verdict, "soft"))
    return (found.figure, found.claim, found.series, found.measured, found.rule, verdict)
