"""All commands by name, in the two groups of ``--help``."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.attention import attention_command, attract_command, compare_command
from wordsway.cli.encoders import audit_command, length_command, pairs_command
from wordsway.cli.options import MapCommand, flag
from wordsway.cli.research import (
    data_app,
    learn_command,
    measure_command,
    reproduce_command,
    sweep_command,
    verify_command,
)
from wordsway.cli.serve import playground_command, serve_command
from wordsway.cli.words import corpus_command, swap_command, words_command
from wordsway.version import __version__

MODELS, RESEARCH = "Models", "Research"

app = typer.Typer(
    name="wordsway",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("words", rich_help_panel=MODELS)(words_command)
app.command("swap", rich_help_panel=MODELS)(swap_command)
app.command("pairs", rich_help_panel=MODELS)(pairs_command)
app.command("audit", rich_help_panel=MODELS)(audit_command)
app.command("length", rich_help_panel=MODELS)(length_command)
app.command("compare", rich_help_panel=MODELS)(compare_command)
app.command("attention", rich_help_panel=MODELS)(attention_command)
app.command("attract", rich_help_panel=MODELS)(attract_command)
app.command("corpus", rich_help_panel=MODELS)(corpus_command)
app.command("serve", rich_help_panel=MODELS)(serve_command)
app.command("measure", cls=MapCommand, rich_help_panel=RESEARCH)(measure_command)
app.command("verify", rich_help_panel=RESEARCH)(verify_command)
app.command("learn", cls=MapCommand, rich_help_panel=RESEARCH)(learn_command)
app.command("sweep", rich_help_panel=RESEARCH)(sweep_command)
app.command("reproduce", rich_help_panel=RESEARCH)(reproduce_command)
app.command("playground", rich_help_panel=RESEARCH)(playground_command)
app.add_typer(data_app, name="data", rich_help_panel=RESEARCH)


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
    """Measure how far one word can sway a model or a random layer."""
