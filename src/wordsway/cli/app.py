"""The command line: `wordsway …`.

Exit status 0: done; 1: it could not be done; 2: the request is wrong. Errors are one line on
standard error, never a traceback unless --debug.
"""

from __future__ import annotations

import gc
import logging
import sys
import traceback
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
from wordsway.cli.tour import tour_command
from wordsway.cli.words import words_command
from wordsway.errors import InputError, WordswayError
from wordsway.escape import one_line
from wordsway.runtime import own_process
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
app.command("tour")(tour_command)
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


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    own_process()
    gc.set_threshold(100_000, 20, 20)  # importing makes many objects and no garbage
    status = run(arguments)
    gc.freeze()  # collecting what transformers leaves behind would take a second at exit
    sys.exit(status)


class _OneLine(logging.Formatter):
    """A warning in one line that cannot drive the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return f"wordsway: {one_line(record.getMessage())}"


def _show_warnings() -> None:
    """The library's warnings as lines of this program."""
    log = logging.getLogger("wordsway")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine())
        log.addHandler(handler)


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    debug = "--debug" in arguments
    _show_warnings()
    # --debug is understood anywhere on the line.
    arguments = (["--debug"] if debug else []) + [word for word in arguments if word != "--debug"]
    try:
        status = app(args=arguments or ["--help"], prog_name="wordsway", standalone_mode=False)
        if status == 130:  # how Typer passes Ctrl-C on
            return _fail("interrupted: nothing was left half-written", 1, debug)
        return status if isinstance(status, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _fail("interrupted: nothing was left half-written", 1, debug)
    except InputError as error:
        return _fail(str(error), 2, debug)
    except WordswayError as error:
        return _fail(str(error), 1, debug)
    except MemoryError:
        return _fail("not enough memory: see --forecast, or name fewer --positions", 1, debug)
    except Exception as error:
        if hasattr(
            error, "format_message"
        ):  # the command line itself was wrong, in the words of Typer
            command = getattr(getattr(error, "ctx", None), "command_path", None) or "wordsway"
            return _fail(f"{error.format_message()} (see {command} --help)", 2, debug)
        return _fail(
            f"{type(error).__name__}: {error} (run again with --debug for the traceback)", 1, debug
        )


def _fail(message: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    line = " ".join(one_line(message).split())
    print(f"wordsway: {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
