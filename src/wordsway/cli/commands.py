"""All commands by name, in the two groups of ``--help``."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli import attention, encoders, research, serve, words
from wordsway.cli.options import MapCommand, flag
from wordsway.version import __version__

MODELS, RESEARCH = "Models", "Research"

app = typer.Typer(
    name="wordsway",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("words", rich_help_panel=MODELS)(words.words_command)
app.command("swap", rich_help_panel=MODELS)(words.swap_command)
app.command("pairs", rich_help_panel=MODELS)(encoders.pairs_command)
app.command("audit", rich_help_panel=MODELS)(encoders.audit_command)
app.command("length", rich_help_panel=MODELS)(encoders.length_command)
app.command("compare", rich_help_panel=MODELS)(attention.compare_command)
app.command("attention", rich_help_panel=MODELS)(attention.attention_command)
app.command("attract", rich_help_panel=MODELS)(attention.attract_command)
app.command("corpus", rich_help_panel=MODELS)(words.corpus_command)
app.command("serve", rich_help_panel=MODELS)(serve.serve_command)
app.command("measure", cls=MapCommand, rich_help_panel=RESEARCH)(research.measure_command)
app.command("verify", rich_help_panel=RESEARCH)(research.verify_command)
app.command("learn", cls=MapCommand, rich_help_panel=RESEARCH)(research.learn_command)
app.command("sweep", rich_help_panel=RESEARCH)(research.sweep_command)
app.command("reproduce", rich_help_panel=RESEARCH)(research.reproduce_command)
app.command("playground", rich_help_panel=RESEARCH)(serve.playground_command)
app.add_typer(research.data_app, name="data", rich_help_panel=RESEARCH)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wordsway {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: bool = flag("--debug", "Show a traceback when something fails."),
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            metavar="",
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Measure how far one word of a text moves a model or a random layer."""
