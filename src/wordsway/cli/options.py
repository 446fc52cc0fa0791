"""Options that several commands share: each is declared once, with its group in ``--help``.

Options that always come together are the fields of a dataclass: a command with such a parameter is
made by `grouped`.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
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
    from wordsway.maps.proof import Proof
    from wordsway.models.encoders import AnyModel
    from wordsway.models.probe import Probe
    from wordsway.studies.request import Request

GIB = 2**30
#: Groups of options; options without a group come first.
TEXTS, MAPS, ENDPOINT = "Texts", "Options of maps", "Endpoint"
RUNNING, OUTPUT = "Running", "Output"


def option(default: Any, help: str, *names: str, group: str | None = None) -> Any:
    """An option with a value; ``...`` if it is required."""
    return typer.Option(default, *names, help=help, rich_help_panel=group)


def flag(name: str, help: str, group: str | None = None, *, default: bool = False) -> Any:
    """An option without a value."""
    return typer.Option(default, name, help=help, metavar="", rich_help_panel=group)


def deprecated(name: str, instead: str) -> Any:
    """A deprecated option: hidden from ``--help``; using it prints a warning."""

    def warn(value: Any) -> Any:
        if value is not None and value != []:
            typer.echo(f"wordsway: {name} is deprecated: {instead}", err=True)
        return value

    return typer.Option(None, name, hidden=True, callback=warn, help=f"Deprecated: {instead}.")


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
                default=own.empty if default is MISSING else default,
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


def given(options: Any) -> dict[str, Any]:
    """The fields of a group of options that have a value."""
    return {name: value for name, value in vars(options).items() if value not in (None, [])}


# Texts and maps
SEED = option(0, "Random seed.")
ENCODING = option(None, "Encoding of the file; UTF-8 by default.", group=TEXTS)


@dataclass(frozen=True)
class ColumnOptions:
    """How a file of texts is read."""

    text_column: str | None = option(None, "Column of texts.", group=TEXTS)
    label_column: str | None = option(None, "Column of labels; empty for none.", group=TEXTS)
    encoding: str | None = ENCODING


@dataclass(frozen=True)
class TrialOptions:
    """A random map, and the texts of its trials."""

    map: str = option(..., "The name of the map.")
    n: int = option(..., "Tokens per text.", "--n")
    d: int = option(..., "Embedding dimension.", "--d")
    positions: str | None = option(
        None,
        "Rows that may change: all; words (all but special tokens and padding); row numbers "
        "(0,3); or words of the text (word:3). Default: row 0; for measure on real text, the "
        "first word.",
    )
    trials: int = option(1, "Number of independent draws of text and weights.")
    seed: int = SEED
    data: str = option(
        "gaussian",
        "Texts: gaussian, imdb, imdb:MODEL, or a file (CSV, TSV, JSON, Parquet, text) or folder.",
        group=TEXTS,
    )
    model: str | None = option(
        None, "Model whose embeddings are used: minilm (default), mpnet, or a folder.", group=TEXTS
    )
    padding: str | None = option(
        None,
        "none: use only texts of at least n tokens; pad: pad shorter texts; paper: use texts of "
        "under 240 tokens, padded to 256, with balanced labels. Default: none; for learn, paper.",
        group=TEXTS,
    )

    def request(
        self, ctx: typer.Context, columns: ColumnOptions, *, layer: str = "input", **more: Any
    ) -> Request:
        """The request; if it learns, row 0 and the paper's padding are the defaults."""
        from wordsway.studies.request import first_row, request_of

        learns = "learning" in more
        chosen: dict[str, Any] = vars(self) | {"layer": layer}
        if self.padding is None:
            chosen["padding"] = "paper" if learns and self.data != "gaussian" else "none"
        if self.positions is not None:
            chosen["positions"] = parse_positions(self.positions)
        else:
            chosen["positions"] = 0 if learns else first_row(self.data)
        return request_of(**chosen, **vars(columns), **map_options(ctx), **more)


# Pretrained models
TEXT = typer.Argument(None, help="A text, or - for standard input.", metavar="TEXT")
MODEL_NAMES = "Model: minilm, mpnet, smollm2, bert-base, a Hugging Face id"
MODEL = option("minilm", f"{MODEL_NAMES}, a folder, or python:module:name, which runs your code.")
CUT = flag("--cut", "Truncate a text that is too long for the model.")

# Running and output
DEVICE = option("cpu", "cpu, cuda or mps.", group=RUNNING)
MEMORY = option(2.0, "Memory budget in GiB.", group=RUNNING)
FORECAST = flag("--forecast", "Estimate time and memory on an idle machine, then exit.", OUTPUT)
AS_JSON = flag("--json", "Print one JSON document and nothing else.", OUTPUT)


@dataclass(frozen=True)
class ProbeOptions:
    """What is measured in a pretrained model; the last four options are deprecated."""

    model: str = MODEL
    layer: str = option("last", "Layer to measure: 0 (the input) to L, or last.")
    target: str = option(
        "layer",
        "Output to measure: layer (see --layer), all (all layers), pooled (the text's embedding), "
        "cosine (1 − cosine of embeddings), logits (of a classifier) or next-token.",
    )
    tiers: list[str] | None = option(
        None,
        "Tier to measure: mean-local (mean over small changes), local (worst small change), "
        "real-words (replacement by real words) or curve (largest change up to each reach); may "
        "be repeated. Default: for short texts the first three; for long texts mean-local, and "
        "real-words for some words; for a corpus mean-local.",
        "--tier",
    )
    reach: float | None = option(
        None,
        "Maximum length ρ of Δ, relative to one row of the word's embedding; implies --tier curve.",
    )
    draws: int | None = option(None, "Number of random real words to try per word; 32 by default.")
    seed: int = SEED
    scaling: str | None = deprecated("--scaling", "use scaling= in Python")
    passes: int | None = deprecated("--passes", "use passes= in Python")
    at: str | None = deprecated("--at", "use at= in Python")
    effort: float | None = deprecated("--effort", "use effort= in Python")

    @property
    def given(self) -> dict[str, Any]:
        """The fields of a request; those left out have its defaults."""
        if self.target != "layer" and self.layer != "last":
            got = f"--layer {self.layer} and --target {self.target}"
            raise InputError("--layer only with --target layer", got, "omit --layer")
        return {name: value for name, value in given(self).items() if name != "model"}


@dataclass(frozen=True)
class LoadingOptions:
    """How a pretrained model is loaded."""

    device: str = DEVICE
    dtype: str = option("float32", "float32, bfloat16, float16 or float64.", group=RUNNING)
    trust_remote_code: bool = flag(
        "--trust-remote-code", "Run Python code that comes with the model.", RUNNING
    )

    def probe(self, model: str, say: Progress) -> Probe:
        """The model, downloaded if necessary."""
        from wordsway.models.probe import Probe

        how: dict[str, Any] = vars(self)
        return Probe(model, progress=say, **how)


@dataclass(frozen=True)
class EndpointOptions:
    """A server whose models are used instead of local ones."""

    endpoint: str | None = option(
        None,
        "URL of an OpenAI-compatible server, such as https://host/v1; --model is then the name of "
        "one of its models.",
        group=ENDPOINT,
    )
    key_env: str | None = option(
        None, "Environment variable with the endpoint's API key.", group=ENDPOINT
    )
    max_texts: int | None = option(
        None, "Stop before a run sends more new texts than this to the endpoint.", group=ENDPOINT
    )
    fresh: bool = flag(
        "--fresh", "Discard the endpoint's stored vectors and send all texts again.", ENDPOINT
    )

    def models_of(self, names: list[str]) -> list[Any]:
        """The names of models, or the models of these names at the endpoint."""
        if self.endpoint is None:
            given = {"--key-env": self.key_env, "--max-texts": self.max_texts}
            given["--fresh"] = self.fresh or None
            if named := [name for name, value in given.items() if value is not None]:
                raise InputError(f"--endpoint with {named[0]}", "none", "pass --endpoint URL")
            return list(names)
        from wordsway.models.endpoint import Endpoint

        how: dict[str, Any] = {"max_texts": self.max_texts, "fresh": self.fresh}
        return [Endpoint(self.endpoint, one, self.key_env, **how) for one in names]

    def opened(self, model: str, loading: LoadingOptions, say: Progress) -> AnyModel:
        """Open one model: by name, at the endpoint, or a user's function."""
        from wordsway.models.encoders import names_a_model, opened

        (found,) = self.models_of([model])
        return loading.probe(model, say) if names_a_model(found) else opened(found)


@dataclass(frozen=True)
class EncoderOptions(EndpointOptions):
    """Models that turn texts into vectors, here or at an endpoint, and how they read texts."""

    model: list[str] | None = option(
        None,
        f"{MODEL_NAMES}, a folder, or python:module:name, which runs your code; minilm by default; "
        "may be repeated.",
    )
    seed: int = SEED
    encoding: str | None = ENCODING
    device: str = DEVICE

    @property
    def how(self) -> dict[str, Any]:
        """The seed, the encoding of files and the device, as verbs take them."""
        return {"seed": self.seed, "encoding": self.encoding, "device": self.device}

    @property
    def models(self) -> list[Any]:
        """Names of models, or models at an endpoint."""
        if self.endpoint is not None and not self.model:
            raise InputError("the model's name at the endpoint", "none", "pass --model NAME")
        return self.models_of(self.model or ["minilm"])


def folder(default: Any = ...) -> Any:
    """The option that names the folder of a long run."""
    return option(default, "Folder for results; the same command resumes the run.", group=OUTPUT)


@dataclass(frozen=True)
class RunOptions:
    """Where the jobs of a long run are computed, and where its results are written."""

    workers: int | None = option(
        None, "Number of processes; one per core by default.", group=RUNNING
    )
    cluster: str | None = option(
        None,
        "A Dask scheduler (tcp://host:port), or local:COUNT or slurm:COUNT[,queue=…,…] to "
        "start one.",
        group=RUNNING,
    )
    memory: float | None = option(
        None, "Memory limit for all workers together, in GiB.", group=RUNNING
    )
    retry_failed: bool = flag("--retry-failed", "Also run jobs that failed before.", RUNNING)
    out: Path = folder()
    forecast: bool = FORECAST
    as_json: bool = AS_JSON

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of a verb."""
        names = ("workers", "cluster", "retry_failed", "out")
        memory = None if self.memory is None else bytes_of(self.memory)
        return {name: getattr(self, name) for name in names} | {"memory": memory}


@dataclass(frozen=True)
class OutputOptions:
    """How a result is printed and written. Files are checked before any work is done."""

    out: list[Path] | None = option(
        None, "Also write a file: .html .svg .png .pdf .json .csv .parquet.", group=OUTPUT
    )
    as_json: bool = AS_JSON

    def __post_init__(self) -> None:
        from wordsway.render.files import ending_of

        for path in self.out or ():
            ending_of(path)
            check_folder(path)

    def deliver(self, result: Result, **options: Any) -> None:
        """Print JSON (``to_dict(**options)``) or the result, then write the files."""
        print_result(result, self.as_json, **options)
        write(result, self.out or (), self.as_json)


def check_folder(path: Path) -> None:
    """Refuse a file that cannot be written: its folder, or the one to create it in, is checked."""
    folder = next(one for one in path.absolute().parents if os.path.exists(one))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK) or os.path.isdir(path):
        reason = "is a folder" if os.path.isdir(path) else f"{folder} is not a writable folder"
        raise InputError("a file that can be written", f"{path} ({reason})", "choose another")


def write(result: Result | Proof, files: Iterable[Path], quiet: bool) -> None:
    """Write files, and print their names."""
    paths = list(dict.fromkeys(files))
    made = {path.parent for path in paths if not path.parent.exists()}
    for path in paths:
        result.save(path)
        if not quiet:
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
        wanted: Any = option.type
        about = typer.Option(
            name,
            help=f"{option.help} ({users})",
            metavar="" if wanted is bool else None,
            rich_help_panel=MAPS,
        )
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
            "positions as all, words, numbers like 0,3 or word:3",
            repr(text),
            "count rows and words from 0",
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
    remedy = 'pass it as an argument, such as "I love her much"'
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


#: Options of version 0.2.0: the commands that had them, the command and the option that replace
#: them, and the text of the warning.
FORMER = {
    "--data": ({"words"}, "corpus", "", "use wordsway corpus FILE"),
    "--attract": ({"attention"}, "attract", "--word", "use wordsway attract TEXT --word WORD"),
    "--html": (
        {"words", "swap", "pairs", "compare", "attention", "attract"},
        "",
        "--out",
        "use --out FILE.html",
    ),
    "--index": ({"words", "swap", "attract"}, "", "--word", "use --word NUMBER"),
}


def current_arguments(arguments: list[str]) -> list[str]:
    """The command line with options of version 0.2.0 written in the new way, each with a warning.

    >>> current_arguments(["measure", "--data", "imdb"])
    ['measure', '--data', 'imdb']
    """
    found: list[str] = []
    command = next((word for word in arguments if not word.startswith("-")), "")
    for place, word in enumerate(arguments):
        if word == "--":
            return [*found, *arguments[place:]]
        name, joined, value = word.partition("=")
        commands, new, option, remedy = FORMER.get(name, ((), "", "", ""))
        if command not in commands:
            found.append(word)
            continue
        both = any(one.partition("=")[0] == option for one in arguments)
        if name == "--index" and command != "words" and both:
            raise InputError(f"one of {name} and {option}", "both", f"omit {name}")
        typer.echo(f"wordsway: {command} {name} is deprecated: {remedy}", err=True)
        if new:
            found[found.index(command)] = new
        found += [option] * bool(option) + [value] * bool(joined)
    return found
