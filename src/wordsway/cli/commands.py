"""All commands, by their names."""

from __future__ import annotations

from typing import Annotated

import typer

from wordsway.cli.attention import attention_command
from wordsway.cli.attract import attract_command
from wordsway.cli.audit import audit_command
from wordsway.cli.compare import compare_command
from wordsway.cli.data import data_app
from wordsway.cli.help import Group, dress
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
app.command("measure", cls=MapCommand)(measure_command)
app.command("learn", cls=MapCommand)(learn_command)
app.command("reproduce")(reproduce_command)
app.command("sweep")(sweep_command)
app.command("playground")(playground_command)
app.command("words")(words_command)
app.command("swap")(swap_command)
app.command("attention")(attention_command)
app.command("attract")(attract_command)
app.command("compare")(compare_command)
app.command("pairs")(pairs_command)
app.command("audit")(audit_command)
app.command("serve")(serve_command)
app.add_typer(data_app, name="data")
dress(app)


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
