"""Which data the figures can be measured on, here and now."""

from __future__ import annotations

from dataclasses import dataclass, field

from wordsway import data

WIDTHS = (192, 384, 768)


@dataclass
class Sources:
    """Which data each width is measured on, and what is left out and why."""

    by_width: dict[int, list[str]]
    missing: list[str] = field(default_factory=list)

    def preferred(self, d: int) -> str:
        """Reviews where there are any, Gaussian texts otherwise."""
        return next((name for name in self.by_width[d] if name != "gaussian"), "gaussian")


def sources(fetch: bool, progress: object = None) -> Sources:
    """Gaussian always; IMDb through MiniLM (192, 384), MPNet and BERT-Base (768) where they are.

    ``fetch`` gets the reviews and MiniLM where they are missing; the large models are the user's
    choice.
    """
    found = Sources({width: ["gaussian"] for width in WIDTHS})
    for name in ("imdb", "minilm"):
        if data.present(name) is None and fetch:
            try:
                data.get(name, progress=progress)  # type: ignore[arg-type]
            except data.DataError as error:
                found.missing.append(f"IMDb panels: {error}")
    if data.present("imdb") is None or data.present("minilm") is None:
        found.missing = found.missing or ["IMDb panels: run `wordsway data get imdb minilm` first"]
        return found
    for width in (192, 384):
        found.by_width[width].append("imdb:minilm")
    for name, title in (("mpnet", "MPNet"), ("bert-base", "BERT-Base")):
        if data.present(name) is not None:
            found.by_width[768].append(f"imdb:{name}")
        else:
            found.missing.append(
                f"IMDb through {title}, d = 768: not present; run `wordsway data get {name}` first"
            )
    return found
