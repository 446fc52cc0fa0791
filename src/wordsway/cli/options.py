"""Options that several commands share: each is declared once, with its group in ``--help``.

Options that always come together are the fields of a dataclass: a command with such a parameter is
made by `grouped`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
import typer.main
from typer.core import TyperCommand

from wordsway.cli.output import print_result
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress
from wordsway.text.clean import checked

if TYPE_CHECKING:
    from wordsway.core.result import Result
    from wordsway.models.encoders import AnyModel
    from wordsway.models.probe import Probe
    from wordsway.studies.request import Request

GIB = 2**30
#: Groups of options; options without a group come first.
TEXTS, MAPS, RUNNING, OUTPUT = "Texts", "Options of maps", "Running", "Output"


def flag(*names: str, help: str, group: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=help, metavar="", rich_help_panel=group)


def deprecated(name: str, instead: str) -> Any:
    """A deprecated option: hidden from ``--help``; using it prints a warning."""

    def warn(value: Any) -> Any:
        if value is not None and value != []:
            typer.echo(f"wordsway: {name} is deprecated: {instead}", err=True)
        return value

    return typer.Option(name, hidden=True, callback=warn, help=f"Deprecated: {instead}.")


def with_options(command: Callable[..., None], parameters: list[inspect.Parameter]) -> Any:
    """Give the command the signature that Typer reads."""
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every dataclass parameter of a command by the fields of the dataclass."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: one for name, one in hints.items() if is_dataclass(one)}
    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        found = [(name, hints[name], own.default)]
        if name in groups:
            options = get_type_hints(groups[name], include_extras=True)
            found = [(one.name, options[one.name], one.default) for one in fields(groups[name])]
        parameters += [
            inspect.Parameter(
                option,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=annotation,
            )
            for option, annotation, default in found
        ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            own = {one.name: given.pop(one.name) for one in fields(group) if one.name in given}
            given[name] = group(**own)
        command(**given)

    return with_options(run, parameters)


# Texts and maps
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Encoding of the file; UTF-8 by default.", rich_help_panel=TEXTS
    ),
]


@dataclass(frozen=True)
class ColumnOptions:
    """How a file of texts is read."""

    text_column: Annotated[
        str | None, typer.Option("--text-column", help="Column of texts.", rich_help_panel=TEXTS)
    ] = None
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column", help="Column of labels; empty for none.", rich_help_panel=TEXTS
        ),
    ] = None
    encoding: Encoding = None


@dataclass(frozen=True)
class TrialOptions:
    """A random map, and the texts of its trials."""

    map: Annotated[str, typer.Option("--map", help="The name of the map.")]
    n: Annotated[int, typer.Option("--n", help="Tokens per text.")]
    d: Annotated[int, typer.Option("--d", help="Embedding dimension.")]
    positions: Annotated[
        str | None,
        typer.Option(
            "--positions",
            help="Rows that may change: all; words (all but special tokens and padding); row "
            "numbers (0,3); or words of the text (word:3). Default: row 0, or the first word if "
            "measure reads real text.",
        ),
    ] = None
    trials: Annotated[
        int, typer.Option("--trials", help="Number of independent draws of text and weights.")
    ] = 1
    seed: Seed = 0
    data: Annotated[
        str,
        typer.Option(
            "--data",
            help="gaussian, imdb, imdb:MODEL, or a CSV, TSV, JSONL, Parquet or text file or "
            "folder.",
            rich_help_panel=TEXTS,
        ),
    ] = "gaussian"
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Model whose embeddings are used: minilm (default), mpnet, or a folder.",
            rich_help_panel=TEXTS,
        ),
    ] = None
    padding: Annotated[
        str | None,
        typer.Option(
            "--padding",
            help="none: use only texts of at least n tokens; pad: pad shorter texts; paper: use "
            "texts of under 240 tokens, padded, with balanced labels.",
            rich_help_panel=TEXTS,
        ),
    ] = None

    def request(
        self, ctx: typer.Context, columns: ColumnOptions, *, layer: str = "input", **more: Any
    ) -> Request:
        """The request with these options. With ``learning``, positions and padding default to
        row 0 and the paper's padding.
        """
        from wordsway.studies.request import Request, first_row
        from wordsway.studies.texts import TextOptions

        learns = "learning" in more
        usual = "paper" if learns and self.data != "gaussian" else "none"
        positions = (0,) if learns else first_row(self.data)
        return Request(
            map=self.map,
            n=self.n,
            d=self.d,
            options=map_options(ctx),
            positions=positions if self.positions is None else parse_positions(self.positions),
            trials=self.trials,
            seed=self.seed,
            data=self.data,
            texts=TextOptions(self.model, layer, self.padding or usual, **vars(columns)),
            **more,
        )


# Pretrained models
Text = Annotated[
    str | None, typer.Argument(help="A text, or - for standard input.", metavar="TEXT")
]
_MODEL = "Model: minilm, mpnet, smollm2, bert-base, a Hugging Face id, a folder"
Model = Annotated[str, typer.Option("--model", help=f"{_MODEL}, or python:module:function.")]
Cut = Annotated[bool, flag("--cut", help="Truncate a text that is too long for the model.")]

# Running
Device = Annotated[str, typer.Option("--device", help="cpu, cuda or mps.", rich_help_panel=RUNNING)]
Memory = Annotated[
    float, typer.Option("--memory", help="Memory budget in GiB.", rich_help_panel=RUNNING)
]

# Output
Folder = Annotated[
    Path,
    typer.Option(
        "--out",
        help="Folder for results; the same command resumes there.",
        rich_help_panel=OUTPUT,
    ),
]
Deltas = Annotated[
    bool,
    flag("--deltas", help="Include the change Δ of every word in the JSON.", group=OUTPUT),
]
Forecast = Annotated[
    bool, flag("--forecast", help="Estimate time and memory, then exit.", group=OUTPUT)
]
AsJson = Annotated[
    bool, flag("--json", help="Print one JSON document and nothing else.", group=OUTPUT)
]

# Deprecated
Index = Annotated[int | None, deprecated("--index", "use --word NUMBER")]


@dataclass(frozen=True)
class ProbeOptions:
    """What is measured in a pretrained model; the last four are deprecated here."""

    model: Model = "minilm"
    layer: Annotated[
        str, typer.Option("--layer", help="Layer to measure: 0 (the input) to L, or last.")
    ] = "last"
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Output to measure: layer (see --layer), all (all layers), pooled (the "
            "text's embedding), cosine, logits or next-token.",
        ),
    ] = "layer"
    tiers: Annotated[
        list[str] | None,
        typer.Option(
            "--tier",
            help="Measure to compute: mean-local (mean over small changes), local (worst small "
            "change), real-words (replacement by real words) or curve (worst change by length); "
            "may be repeated. Default: the first three for short texts, the first for long texts "
            "and for a corpus.",
        ),
    ] = None
    reach: Annotated[
        float | None,
        typer.Option(
            "--reach", help="Maximum length ρ of the change Δ, relative to the word's embedding."
        ),
    ] = None
    draws: Annotated[
        int | None,
        typer.Option("--draws", help="Real words to try in place of each word; 32 by default."),
    ] = None
    seed: Seed = 0
    scaling: Annotated[str | None, deprecated("--scaling", "use scaling= in Python")] = None
    passes: Annotated[int | None, deprecated("--passes", "use passes= in Python")] = None
    at: Annotated[str | None, deprecated("--at", "use at= in Python")] = None
    effort: Annotated[float | None, deprecated("--effort", "use effort= in Python")] = None

    @property
    def given(self) -> dict[str, Any]:
        """The fields of a request; those left out have its defaults."""
        given = vars(self) | {"model": None, "tiers": self.tiers or None}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class LoadingOptions:
    """How a pretrained model is loaded."""

    device: Device = "cpu"
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype", help="float32, bfloat16, float16 or float64.", rich_help_panel=RUNNING
        ),
    ] = "float32"
    trust_remote_code: Annotated[
        bool,
        flag(
            "--trust-remote-code", help="Run Python code that comes with the model.", group=RUNNING
        ),
    ] = False

    def probe(self, model: str, say: Progress) -> Probe:
        """The model, downloaded if necessary."""
        from wordsway.models.probe import Probe

        how: dict[str, Any] = vars(self)
        return Probe(
            model, progress=lambda done, total: say(f"fetching {model}", done, total), **how
        )


@dataclass(frozen=True)
class EndpointOptions:
    """A server whose models are used instead of local ones."""

    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint",
            help="URL of an OpenAI-compatible server, such as https://host/v1; --model then names "
            "one of its models.",
        ),
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", help="Environment variable with the endpoint's API key."),
    ] = None
    max_texts: Annotated[
        int | None,
        typer.Option("--max-texts", help="Refuse to send more texts than this to the endpoint."),
    ] = None

    def models_of(self, names: list[str]) -> list[Any]:
        """The names of models, or the models of these names at the endpoint."""
        if self.endpoint is None:
            if self.key_env is not None or self.max_texts is not None:
                raise InputError(
                    "--endpoint with --key-env and --max-texts",
                    "none",
                    "name the endpoint's address",
                )
            return list(names)
        from wordsway.models.endpoint import Endpoint

        limit = self.max_texts
        return [Endpoint(self.endpoint, one, self.key_env, max_texts=limit) for one in names]

    def opened(self, model: str, loading: LoadingOptions, say: Progress) -> AnyModel:
        """Open one model: by name, at the endpoint, or a user's function."""
        from wordsway.models.encoders import names_a_model, opened

        (found,) = self.models_of([model])
        return loading.probe(model, say) if names_a_model(found) else opened(found)


@dataclass(frozen=True)
class EncoderOptions(EndpointOptions):
    """One or several models that turn texts into vectors, here or at an endpoint."""

    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help=f"{_MODEL}, or python:module:function, which runs your code; may be repeated.",
        ),
    ] = None

    @property
    def models(self) -> list[Any]:
        """Names of models, or models at an endpoint."""
        if self.endpoint is not None and not self.model:
            raise InputError("the model's name at the endpoint", "none", "pass --model NAME")
        return self.models_of(self.model or ["minilm"])


@dataclass(frozen=True)
class RunningOptions:
    """Where the jobs of a long run are computed."""

    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Number of processes; one per core by default.",
            rich_help_panel=RUNNING,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="A Dask scheduler (tcp://host:port), or local:COUNT or slurm:COUNT[,queue=…,…] to "
            "start one.",
            rich_help_panel=RUNNING,
        ),
    ] = None
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory",
            help="Memory limit for all workers together, in GiB.",
            rich_help_panel=RUNNING,
        ),
    ] = None
    retry_failed: Annotated[
        bool, flag("--retry-failed", help="Also run jobs that failed before.", group=RUNNING)
    ] = False

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of a verb."""
        return vars(self) | {"memory": None if self.memory is None else bytes_of(self.memory)}


@dataclass(frozen=True)
class OutputOptions:
    """How a result is written and printed. File extensions are checked before any work is done."""

    html: Annotated[Path | None, deprecated("--html", "use --out FILE.html")] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Also write a file: .html .svg .png .pdf .json .csv .parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    as_json: AsJson = False

    def __post_init__(self) -> None:
        from wordsway.render.files import ending_of

        for path in self.files:
            ending_of(path)

    @property
    def files(self) -> list[Path]:
        """The requested files without duplicates."""
        return list(dict.fromkeys(path for path in (self.html, self.out) if path is not None))

    def deliver(self, result: Result, **options: Any) -> None:
        """Write the files, then print ``to_dict(**options)`` as JSON, or show the result and the
        names of the files.
        """
        made = {path.parent for path in self.files if not path.parent.exists()}
        written = [result.save(path) for path in self.files]
        print_result(result, self.as_json, **options)
        for path in () if self.as_json else written:
            typer.echo(f"written: {path}" + (" (in a new folder)" if path.parent in made else ""))


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


@functools.cache
def _registry_options() -> tuple[Any, ...]:
    """The options of all maps, made by Typer from a function's parameters."""
    from wordsway.maps.registry import MAPS as REGISTRY
    from wordsway.maps.registry import all_options

    def command(**options: Any) -> None:
        """A stub: Typer reads its signature."""

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
    app = typer.Typer(add_completion=False)
    app.command()(with_options(command, parameters))
    return tuple(typer.main.get_command(app).params)


def map_options(ctx: typer.Context) -> dict[str, Any]:
    """The options of maps that were given."""
    given = ctx.meta["map_options"]
    return {name: value for name, value in given.items() if value is not None}


def parse_positions(text: str) -> str | tuple[int | str, ...]:
    """Parse ``--positions`` into the form that a request stores.

    >>> parse_positions("all"), parse_positions("0, word:3")
    ('all', (0, 'word:3'))
    """
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
    """Convert GiB to bytes, and check the range."""
    if not 0 < gib < 2**20:
        raise InputError(
            "a memory budget between 0 and 1,048,576 GiB",
            gib,
            "pass --memory in GiB, for example 2",
        )
    return int(gib * GIB)


def text_of(text: str | None) -> str:
    """The text of an argument, or standard input if it is "-" or missing."""
    remedy = 'pass it as an argument: wordsway words "I love her much"'
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
