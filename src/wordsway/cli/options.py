"""Options that several commands share, and what turns them into what verbs take."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from wordsway.cli.help import Command, grouped, kind_of
from wordsway.core.errors import InputError

if TYPE_CHECKING:
    from wordsway.engine.run import Machines

GIB = 2**30

Map = Annotated[str, typer.Option("--map", help="The map's name.")]
Tokens = Annotated[int, typer.Option("--n", help="Tokens per text.")]
Dimension = Annotated[int, typer.Option("--d", help="Embedding dimension.")]
Positions = Annotated[
    str | None,
    typer.Option(
        "--positions",
        help="Rows that may change: all, words (no special tokens, no padding), numbers like 0,3, "
        "or words of the text like word:3. By default the first row, the paper's; measure on real "
        "text takes the first word, since row 0 is a special token there.",
    ),
]
Radius = Annotated[
    float | None, typer.Option("--radius", help="Of the ball for Δ; √d, the paper's, by default.")
]
Trials = Annotated[int, typer.Option("--trials", help="Independent draws of text and weights.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        help="Where texts come from: gaussian, imdb, imdb:MODEL, or a CSV, TSV, JSONL, Parquet or "
        "text file or a folder.",
    ),
]
TextModel = Annotated[
    str | None,
    typer.Option("--model", help="Model that embeds texts: minilm (default), mpnet, or a folder."),
]
Layer = Annotated[
    str,
    typer.Option("--layer", help="input (the paper's), words (bare vectors), a number, or last."),
]
Padding = Annotated[
    str | None,
    typer.Option(
        "--padding",
        help="none: only texts of at least n tokens; pad: fill short ones up; paper: under 240 "
        "tokens, padded, balanced labels.",
    ),
]
TextColumn = Annotated[str | None, typer.Option("--text-column", help="Column of texts in a file.")]
LabelColumn = Annotated[
    str | None, typer.Option("--label-column", help="Column of labels in a file; empty for none.")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Of a text file, if it is not UTF-8.")
]
Certificate = Annotated[
    bool, typer.Option("--certificate/--no-certificate", help="Also compute the upper end.")
]
Average = Annotated[
    int | None,
    typer.Option(
        "--average",
        help="Also try so many random Δ at each row and, on real text, so many real words: the "
        "average beside the worst.",
    ),
]
SearchMemory = Annotated[float, typer.Option("--memory", help="Memory budget of a search, in GiB.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Foretell = Annotated[
    bool, typer.Option("--forecast", help="Say what it would cost, without running it.")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes on this machine; one per core by default."),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="A Dask scheduler, tcp://host:port, or local:COUNT."),
]
WorkersMemory = Annotated[
    float | None, typer.Option("--memory", help="Limit for all workers together, in GiB.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Run cells again that failed before.")
]
StudyFolder = Annotated[
    Path,
    typer.Option("--out", help="Folder for the store and the tables; several runs may share it."),
]


class MapCommand(Command):
    """A command on a random map: names and options of all maps come from the registry, which is
    loaded when the command is parsed or its help is shown; `map_options` has their values.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        from wordsway.maps.registry import MAPS

        params: list[Any] = []
        own: list[Any] = super().get_params(ctx)
        for param in own:
            if param.name == "map":
                param.help = f"One of {', '.join(MAPS)}."
            params += [param, *(_registry_options() if param.name == "d" else ())]
        return grouped(params)

    def invoke(self, ctx: Any) -> Any:
        names = [option.name for option in _registry_options()]
        ctx.meta["map_options"] = {name: ctx.params.pop(name, None) for name in names}
        return super().invoke(ctx)


@cache
def _registry_options() -> tuple[Any, ...]:
    """The options of all maps, as Typer makes them of a function's parameters."""
    from wordsway.maps.registry import MAPS, all_options

    def command(**options: Any) -> None:
        """A function with these parameters, for Typer to read."""

    parameters = []
    for option in all_options().values():
        users = [kind.name for kind in MAPS.values() if option in kind.options]
        flag = "--" + option.name.replace("_", "-")
        wanted: Any = option.type
        about = typer.Option(
            flag, metavar=kind_of(wanted), help=f"Of {', '.join(users)}: {option.help}"
        )
        parameters.append(
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[wanted | None, about],
            )
        )
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return tuple(typer.main.get_command(app).params)


def map_options(ctx: typer.Context) -> dict[str, Any]:
    """The options of maps that were given."""
    given = ctx.meta["map_options"]
    return {name: value for name, value in given.items() if value is not None}


def parse_positions(text: str | None, data: str) -> str | tuple[int | str, ...]:
    """Rows as a request holds them; where none are named, the first row or word.

    >>> parse_positions("all", "imdb"), parse_positions("0, word:3", "gaussian")
    ('all', (0, 'word:3'))
    """
    if text is None:
        from wordsway.studies.request import first_row

        return first_row(data)
    if text.strip() in ("all", "words"):
        return text.strip()
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(part if part.startswith("word:") else int(part) for part in parts)
    except ValueError:
        raise InputError(
            "positions as all, words, numbers like 0,3 or word:3", repr(text), "count words from 0"
        ) from None


def bytes_of(gib: float) -> int:
    """A memory budget."""
    if not 0 < gib < 2**20:
        raise InputError(
            "a memory budget between 0 and 1,048,576 GiB",
            gib,
            "pass --memory in GiB, for example 2",
        )
    return int(gib * GIB)


def machines_of(workers: int | None, cluster: str | None, memory: float | None) -> Machines:
    """Where a sweep runs."""
    from wordsway.engine.run import Machines

    return Machines(workers, cluster, None if memory is None else bytes_of(memory))
