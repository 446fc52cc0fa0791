"""Which data the figures can be measured on, here and now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wordsway import data
from wordsway.core.progress import Progress, silent
from wordsway.studies.texts import TextOptions

WIDTHS = (192, 384, 768)
#: The paper's reviews through each model.
MODELS = {"imdb:minilm": "MiniLM", "imdb:mpnet": "MPNet", "imdb:bert-base": "BERT-Base"}


@dataclass
class Sources:
    """Which data each width is measured on, which models are here, and what is left out and why."""

    by_width: dict[int, list[str]]
    missing: list[str] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)

    def preferred(self, d: int) -> str:
        """Reviews where there are any, Gaussian texts otherwise."""
        return next((name for name in self.by_width[d] if name != "gaussian"), "gaussian")

    def first_model(self, names: Iterable[str]) -> str | None:
        """The first of these models that is here."""
        return next((name for name in names if name in self.models), None)


def texts_for(name: str) -> TextOptions:
    """How the paper reads its texts."""
    return TextOptions() if name == "gaussian" else TextOptions(padding="paper")


def find_sources(*, fetch: bool, reviews: bool = True, progress: Progress = silent) -> Sources:
    """Gaussian always; IMDb through MiniLM (192, 384), MPNet and BERT-Base (768) where they are and
    ``reviews`` are wanted.

    ``fetch`` gets the reviews and MiniLM where they are missing; the large models are the user's
    choice.
    """
    found = Sources({width: ["gaussian"] for width in WIDTHS})
    for name in ("imdb", "minilm") if reviews else ():
        if data.present(name) is None and fetch:
            try:
                data.get(name, progress=_fetching(progress, name))
            except data.DataError as error:
                found.missing.append(f"IMDb panels: {error}")
    entries = [name for name, entry in data.CATALOGUE.items() if entry.kind == "model"]
    here = {name: data.present(name) for name in entries}
    found.models = {name: model.digest for name, model in here.items() if model is not None}
    if not reviews:
        return found
    if data.present("imdb") is None or "minilm" not in found.models:
        found.missing = found.missing or ["IMDb panels: run `wordsway data get imdb minilm` first"]
        return found
    for width in (192, 384):
        found.by_width[width].append("imdb:minilm")
    for name in ("mpnet", "bert-base"):
        if name in found.models:
            found.by_width[768].append(f"imdb:{name}")
        else:
            found.missing.append(
                f"IMDb through {MODELS[f'imdb:{name}']}, d = 768: not present; run "
                f"`wordsway data get {name}` first"
            )
    return found


def _fetching(progress: Progress, name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(f"fetching {name}", done, total)
