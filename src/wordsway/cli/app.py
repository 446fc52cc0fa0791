"""The command line: `wordsway …`.

Exit status: 0 for success, 1 for a failure, 2 for an invalid request. Errors are one line on
standard error; --debug adds the traceback.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback

from wordsway.core.checks import required
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.escape import one_line
from wordsway.core.runtime import hide_panics


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    # Set before torch is imported: OpenMP threads that wait sleep. By default they spin, and next
    # to other work on two cores mean local of eight words then took 9 s instead of 0.7 s.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    hide_panics()
    sys.exit(run(given))


#: What Ctrl-C leaves: files are written as a whole, and finished parts of long commands are stored.
INTERRUPTED = "interrupted: no partial files remain; with --out, the same command continues"


class _OneLine(logging.Formatter):
    """Format a warning as one line without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return f"wordsway: {one_line(record.getMessage())}"


def _show_warnings() -> None:
    """Print the library's warnings on standard error."""
    log = logging.getLogger("wordsway")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine())
        log.addHandler(handler)


def run(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    import typer

    from wordsway.cli.commands import app
    from wordsway.cli.options import current_arguments

    debug = "--debug" in arguments
    if len(arguments) > 1 and arguments[0] in ("--install-completion", "--show-completion"):
        alone = f"{arguments[0]} takes no value: run it in the shell that needs completion"
        return _fail(alone, 2, debug)
    _show_warnings()
    # --debug may stand anywhere on the command line.
    arguments = (["--debug"] if debug else []) + [word for word in arguments if word != "--debug"]
    try:
        arguments = current_arguments(arguments)
        status = app(args=arguments or ["--help"], prog_name="wordsway", standalone_mode=False)
        if status == 130:  # how Typer passes Ctrl-C on
            return _fail(INTERRUPTED, 1, debug)
        return status if isinstance(status, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _fail(INTERRUPTED, 1, debug)
    except InputError as error:
        return _fail(str(error), 2, debug)
    except WordswayError as error:
        return _fail(str(error), 1, debug)
    except MemoryError:
        return _fail("not enough memory: see --forecast, or name fewer --positions", 1, debug)
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of the command line that Typer reports
            context = getattr(error, "ctx", None)
            command = getattr(context, "command_path", None) or "wordsway"
            choices = getattr(getattr(context, "command", None), "commands", ())
            if errors := getattr(error.__cause__, "errors", None):
                found, param = errors()[0], getattr(error, "param")  # noqa: B009
                name = param.get_error_hint().replace("'", "")
                expected, remedy = f"{required(found)} for {name}", f"see {command} --help"
                return _fail(str(InputError(expected, repr(found["input"]), remedy)), 2, debug)
            message = error.format_message() or f"choose {' or '.join(choices)}"
            return _fail(f"{message} (see {command} --help)", 2, debug)
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
