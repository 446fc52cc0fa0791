"""Words over a corpus, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.corpus_words import CorpusWords
from wordsway.render.terminal import panels
from wordsway.render.terminal.batch import batch_panel
from wordsway.render.terminal.sweep import tally_line


@panels.register(CorpusWords)
def corpus_words_panel(result: CorpusWords) -> RenderableType:
    """What the words have in common, what was done, and where the tables are."""
    job = result.jobs[0]
    tables = ", ".join(str(path) for path in result.tables)
    return Group(
        batch_panel(result.aggregates, job.model, job.layer, result.probed, job.tokens),
        Text(),
        tally_line(result.tally, result.folder / "store"),
        Text(one_line(f"tables: {tables}"), overflow="fold"),
    )
