"""Options that several commands share: each is declared once, with its group in ``--help``."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

from wordsway.core.errors import InputError
from wordsway.core.progress import Progress
from wordsway.text.clean import checked

if TYPE_CHECKING:
    from wordsway.engine.run import Machines
    from wordsway.models.probe import Probe

GIB = 2**30
#: Groups of options; options without a group come first.
TEXTS, MAPS, RUNNING, OUTPUT = "Texts", "Options of maps", "Running", "Output"


def flag(*names: str, help: str, group: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=help, metavar="", rich_help_panel=group)


def deprecated(name: str, instead: str) -> Any:
    """An option that leaves the command line: hidden, and with a warning if it is used."""

    def warn(value: Any) -> Any:
        if value is not None and value != []:
            typer.echo(f"wordsway: {name} is deprecated: {instead}", err=True)
        return value

    return typer.Option(name, hidden=True, callback=warn, help=f"Deprecated: {instead}.")


# Texts and maps
Map = Annotated[str, typer.Option("--map", help="The name of the map.")]
Tokens = Annotated[int, typer.Option("--n", help="Tokens per text.")]
Dimension = Annotated[int, typer.Option("--d", help="Embedding dimension.")]
Positions = Annotated[
    str | None,
    typer.Option(
        "--positions",
        help="Rows that may change: all, words (no special tokens, no padding), numbers (0,3) or "
        "words of the text (word:3). Default: row 0; for measure on real text, the first word.",
    ),
]
Trials = Annotated[int, typer.Option("--trials", help="Independent draws of text and weights.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        help="gaussian, imdb, imdb:MODEL, or a CSV, TSV, JSONL, Parquet or text file or folder.",
        rich_help_panel=TEXTS,
    ),
]
TextModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model that embeds texts: minilm (default), mpnet, or a folder.",
        rich_help_panel=TEXTS,
    ),
]
Padding = Annotated[
    str | None,
    typer.Option(
        "--padding",
        help="none: only texts of at least n tokens; pad: pad shorter ones; paper: texts of under "
        "240 tokens, padded, with balanced labels.",
        rich_help_panel=TEXTS,
    ),
]
TextColumn = Annotated[
    str | None, typer.Option("--text-column", help="Column of texts.", rich_help_panel=TEXTS)
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label-column", help="Column of labels; empty for none.", rich_help_panel=TEXTS),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Encoding of the file; UTF-8 by default.", rich_help_panel=TEXTS
    ),
]

# Pretrained models
Text = Annotated[str | None, typer.Argument(help="A text; - reads standard input.", metavar="TEXT")]
_MODEL = "minilm, mpnet, smollm2, bert-base, a hub id or a folder"
Model = Annotated[str, typer.Option("--model", help=f"{_MODEL}.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help=f"{_MODEL}, or python:module:function, which runs your code; may be repeated.",
    ),
]
Layer = Annotated[
    str, typer.Option("--layer", help="The layer that is measured: 0 (input) to L, or last.")
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        help="Address of an OpenAI-compatible endpoint, such as https://host/v1; --model is then "
        "the model's name there.",
    ),
]
KeyVariable = Annotated[
    str | None,
    typer.Option("--key-env", help="Environment variable that holds the endpoint's key."),
]
MaxTexts = Annotated[
    int | None,
    typer.Option("--max-texts", help="Refuse to send more texts than this to the endpoint."),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        help="What is measured: layer (see --layer), all, pooled, cosine, logits or next-token.",
    ),
]
Tier = Annotated[
    list[str] | None,
    typer.Option(
        "--tier",
        help="mean-local, local, real-words or curve; may be repeated. Default: the first three "
        "for short texts, the first for long ones and for a corpus.",
    ),
]
Reach = Annotated[
    float | None,
    typer.Option("--reach", help="ρ: length of Δ relative to the word's embedding, at most."),
]
Draws = Annotated[int | None, typer.Option("--draws", help="Real words per place; 32 by default.")]
Cut = Annotated[bool, flag("--cut", help="Keep the beginning of a text that is too long.")]

# Running
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, mps.", rich_help_panel=RUNNING)]
Dtype = Annotated[
    str,
    typer.Option("--dtype", help="float32, bfloat16, float16 or float64.", rich_help_panel=RUNNING),
]
RemoteCode = Annotated[
    bool,
    flag("--trust-remote-code", help="Run Python code that comes with the model.", group=RUNNING),
]
Memory = Annotated[
    float, typer.Option("--memory", help="Memory budget in GiB.", rich_help_panel=RUNNING)
]
WorkersMemory = Annotated[
    float | None,
    typer.Option("--memory", help="Limit for all workers, in GiB.", rich_help_panel=RUNNING),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes; one per core by default.", rich_help_panel=RUNNING),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="A Dask scheduler: tcp://host:port or local:COUNT.",
        rich_help_panel=RUNNING,
    ),
]
RetryFailed = Annotated[
    bool, flag("--retry-failed", help="Also run jobs that failed before.", group=RUNNING)
]

# Output
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Also write a file: .html .svg .png .pdf .json .csv .parquet.",
        rich_help_panel=OUTPUT,
    ),
]
Folder = Annotated[
    Path, typer.Option("--out", help="Folder for results and store.", rich_help_panel=OUTPUT)
]
Deltas = Annotated[
    bool, flag("--deltas", help="Include the attaining Δ in the JSON.", group=OUTPUT)
]
Forecast = Annotated[
    bool, flag("--forecast", help="Estimate time and memory, then exit.", group=OUTPUT)
]
AsJson = Annotated[
    bool, flag("--json", help="Print one JSON document and nothing else.", group=OUTPUT)
]

# Deprecated
Html = Annotated[Path | None, deprecated("--html", "use --out FILE.html")]
Index = Annotated[int | None, deprecated("--index", "use --word NUMBER")]
Scaling = Annotated[str | None, deprecated("--scaling", "use scaling= in Python")]
Passes = Annotated[int | None, deprecated("--passes", "use passes= in Python")]
At = Annotated[str | None, deprecated("--at", "use at= in Python")]
Effort = Annotated[float | None, deprecated("--effort", "use effort= in Python")]


class MapCommand(TyperCommand):
    """A command on a random map, with the options of all maps of the registry.

    The registry is imported when the command is parsed or its help is shown; `map_options` returns
    their values.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        from wordsway.maps.registry import MAPS

        params: list[Any] = []
        own: list[Any] = super().get_params(ctx)
        for param in own:
            if param.name == "map":
                param.help = f"One of {', '.join(MAPS)}."
            params += [param, *(_registry_options() if param.name == "d" else ())]
        return params

    def invoke(self, ctx: Any) -> Any:
        names = [option.name for option in _registry_options()]
        ctx.meta["map_options"] = {name: ctx.params.pop(name, None) for name in names}
        return super().invoke(ctx)


@cache
def _registry_options() -> tuple[Any, ...]:
    """The options of all maps, made by Typer from a function's parameters."""
    from wordsway.maps.registry import MAPS as REGISTRY
    from wordsway.maps.registry import all_options

    def command(**options: Any) -> None:
        """Has the parameters that Typer reads."""

    parameters = []
    for option in all_options().values():
        users = ", ".join(kind.name for kind in REGISTRY.values() if option in kind.options)
        name = "--" + option.name.replace("_", "-")
        about = typer.Option(name, help=f"{option.help} ({users})", rich_help_panel=MAPS)
        wanted: Any = option.type
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
    """Rows as a request stores them; the first row or word by default.

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
    """The machines that run a sweep."""
    from wordsway.engine.run import Machines

    return Machines(workers, cluster, None if memory is None else bytes_of(memory))


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None, which stands for the default."""
    return {name: value for name, value in options.items() if value is not None}


def text_of(text: str | None) -> str:
    """The text of an argument, or standard input if it is "-" or missing."""
    remedy = 'write it behind the command: wordsway words "I love her much"'
    if text is None and sys.stdin.isatty():
        raise InputError("a text", "none", remedy)
    if text is None or text == "-":
        try:
            text = sys.stdin.buffer.read().decode().rstrip("\n")
        except UnicodeDecodeError as error:
            raise InputError(
                "UTF-8 on standard input",
                f"byte {error.start} of another encoding",
                "convert it first, with iconv",
            ) from None
        if not text.strip():
            raise InputError("a text", "nothing on standard input", remedy)
    if not checked(text).strip():
        raise InputError("a text with at least one word", "an empty one", remedy)
    return text


def word_of(word: str | None, index: int | None) -> str | int | None:
    """A word by its spelling or its number, not by both."""
    if word is not None and index is not None:
        raise InputError("a word by --word or by --index", "both", "leave one out")
    return word if index is None else index


def probe_of(
    model: str,
    device: str,
    dtype: str,
    remote_code: bool,
    say: Progress,
    *,
    eager: bool = False,
) -> Probe:
    """The model, downloaded if necessary."""
    from wordsway.models.probe import Probe

    how: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "eager": eager,
        "trust_remote_code": remote_code,
    }
    return Probe(model, progress=lambda done, total: say(f"fetching {model}", done, total), **how)


def encoders(
    models: list[str] | None, endpoint: str | None, key_env: str | None, max_texts: int | None
) -> list[Any]:
    """The models of the command line: names, or models at an endpoint."""
    if endpoint is None:
        if key_env is not None or max_texts is not None:
            raise InputError(
                "--endpoint with --key-env and --max-texts", "none", "name the endpoint's address"
            )
        return list(models or ["minilm"])
    from wordsway.models.endpoint import Endpoint

    if not models:
        raise InputError("the model's name at the endpoint", "none", "pass --model NAME")
    return [Endpoint(endpoint, name, key_env, max_texts=max_texts) for name in models]
