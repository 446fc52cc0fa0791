"""What the commands on pretrained models share: their options, where the text comes from, and where
the result goes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordsway.cli.progress import echo_json
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress
from wordsway.text.clean import checked

if TYPE_CHECKING:
    from wordsway.core.result import Result
    from wordsway.models.probe import Probe


def gone(flag: str, instead: str) -> Any:
    """An option that leaves the command line: it works for one version, with a warning."""

    def warn(value: Any) -> Any:
        if value is not None and value != []:
            typer.echo(f"wordsway: {flag} is deprecated: {instead}", err=True)
        return value

    return typer.Option(flag, hidden=True, callback=warn, help=f"Deprecated: {instead}.")


Text = Annotated[
    str | None, typer.Argument(help="A sentence; - reads it from standard input.", metavar="TEXT")
]
Model = Annotated[
    str, typer.Option("--model", help="minilm, mpnet, smollm2, bert-base, a hub id or a folder.")
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, mps.")]
Dtype = Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")]
RemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run Python that comes with the model.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Also write a view: .html .svg .png .pdf .json .csv .parquet."),
]
Layer = Annotated[
    str, typer.Option("--layer", help="The layer that is measured: 0 (input) to L, or last.")
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        help="What moves: layer (see --layer), all, pooled, cosine, logits or next-token.",
    ),
]
Tier = Annotated[
    list[str] | None,
    typer.Option(
        "--tier",
        help="What to measure: mean-local, local, real-words, curve; may be repeated. By default "
        "the first three on short texts, the first on long ones and on a corpus.",
    ),
]
Reach = Annotated[
    float | None,
    typer.Option(
        "--reach", help="ρ: measure S(ρ) up to a Δ of ρ times the length of the word's embedding."
    ),
]
Draws = Annotated[int | None, typer.Option("--draws", help="Real words per place; 32 by default.")]
Cut = Annotated[bool, typer.Option("--cut", help="Keep the beginning of a text that is too long.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")]
Deltas = Annotated[bool, typer.Option("--deltas", help="Put the witnesses Δ into the JSON.")]
Forecast = Annotated[bool, typer.Option("--forecast", help="Estimate time and memory, then exit.")]
Html = Annotated[Path | None, gone("--html", "use --out FILE.html")]
Scaling = Annotated[str | None, gone("--scaling", "Python has scaling=")]
Passes = Annotated[int | None, gone("--passes", "Python has passes=")]
At = Annotated[str | None, gone("--at", "Python has at=")]
Effort = Annotated[float | None, gone("--effort", "Python has effort=")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given: None leaves a choice to its default."""
    return {name: value for name, value in options.items() if value is not None}


def text_of(text: str | None) -> str:
    """The text of an argument, or of standard input where it is "-" or missing and something is
    piped in.
    """
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


def bytes_of(gib: float) -> int:
    """A memory budget."""
    if not 0 < gib < 2**20:
        raise InputError("a memory budget in GiB", gib, "leave it at 2")
    return int(gib * 2**30)


def probe_of(
    model: str,
    device: str,
    dtype: str,
    remote_code: bool,
    say: Progress,
    *,
    eager: bool = False,
) -> Probe:
    """The model, fetched where it is not here yet."""
    from wordsway.models.probe import Probe

    how: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "eager": eager,
        "trust_remote_code": remote_code,
    }
    return Probe(model, progress=lambda done, total: say(f"fetching {model}", done, total), **how)


def files_of(*paths: Path | None) -> list[Path]:
    """The files that were asked for, once each, with endings that can be written; checked before
    any work is done.
    """
    from wordsway.render.files import ending_of

    wanted = list(dict.fromkeys(path for path in paths if path is not None))
    for path in wanted:
        ending_of(path)
    return wanted


def deliver(result: Result, files: Sequence[Path], document: dict[str, Any] | None) -> None:
    """Write the files; print ``document`` as JSON, or, where there is none, show the result and
    tell what was written, and which folders were made for it.
    """
    made = {path.parent for path in files if not path.parent.exists()}
    written = [result.save(path) for path in files]
    if document is not None:
        echo_json(document)
        return
    result.show()
    for path in written:
        typer.echo(f"written: {path}" + (" (in a new folder)" if path.parent in made else ""))
