"""All commands, by their names."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.attention import attention_command
from wordsway.cli.attract import attract_command
from wordsway.cli.audit import audit_command
from wordsway.cli.compare import compare_command
from wordsway.cli.corpus import corpus_command
from wordsway.cli.data import data_app
from wordsway.cli.help import COMMAND_PANELS, Group, add
from wordsway.cli.learn import learn_command
from wordsway.cli.measure import measure_command
from wordsway.cli.options import MapCommand
from wordsway.cli.pairs import pairs_command
from wordsway.cli.playground import playground_command
from wordsway.cli.reproduce import reproduce_command
from wordsway.cli.serve import serve_command
from wordsway.cli.swap import swap_command
from wordsway.cli.sweep import sweep_command
from wordsway.cli.words import words_command
from wordsway.version import __version__

app = typer.Typer(
    name="wordsway",
    cls=Group,
    help="How far can one word sway a layer? Word sensitivity as an interval: attained, certified.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add(app, "measure", measure_command, cls=MapCommand)
add(app, "learn", learn_command, cls=MapCommand)
add(app, "sweep", sweep_command)
add(app, "reproduce", reproduce_command)
add(app, "words", words_command)
add(app, "corpus", corpus_command)
add(app, "swap", swap_command)
add(app, "attention", attention_command)
add(app, "attract", attract_command)
add(app, "compare", compare_command)
add(app, "pairs", pairs_command)
add(app, "audit", audit_command)
add(app, "serve", serve_command)
add(app, "playground", playground_command)
app.add_typer(data_app, name="data", rich_help_panel=COMMAND_PANELS["data"])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wordsway {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show a traceback when something fails.",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """How far can one word sway a layer?"""
