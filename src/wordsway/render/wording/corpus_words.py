"""What every medium says of the words of a corpus."""

from __future__ import annotations

from wordsway.render.numbers import digits
from wordsway.render.wording.targets import named, sized
from wordsway.studies.corpus_words import CorpusWords

#: What the columns that words may be ordered by are called.
LEADS = {"mean_local": "mean local", "mean_real": "real words"}


def target_of(result: CorpusWords) -> str:
    """What moves."""
    job = result.jobs[0]
    return f"layer {job.layer}" if job.target == "layer" else job.target


def moved(result: CorpusWords) -> str:
    """What moves, in words.

    A layer says of how many.
    """
    return named(target_of(result), int(result.aggregates["by_layer"]["layer"].max()))


def has_layers(result: CorpusWords) -> bool:
    """Whether the layers' changes were measured."""
    return bool(result.aggregates["by_layer"]["mean_change"].notna().any())


def has_real_words(result: CorpusWords) -> bool:
    """Whether real words were measured."""
    table = result.aggregates["by_word"]
    return "mean_real" in table and bool(table["mean_real"].notna().any())


def spread(error: float) -> str:
    """A standard error, where there is one.

    >>> spread(0.0123), spread(float("nan"))
    ('0.01', '')
    """
    return digits(error, 1) if error > 0 else ""


def meanings(result: CorpusWords) -> dict[str, str]:
    """One plain sentence for each column of the table of words."""
    target = moved(result)
    said = {
        "uses": "How often the word occurs in these texts; in texts: in how many of them.",
        "pieces": "Tokens that the word is made of.",
        "mean local": f"How strongly {target} responds to small random moves of the word, on "
        "average over directions and uses (change per change of the word, both relative).",
        "±": "One standard error of the mean over uses (of a single use, of its own number): words "
        "that differ by less than two of them are not told apart.",
        "largest": "The same of the use with the largest one.",
        "rank share": "Of its text's words, the share that moves it less; itself is half.",
    }
    if has_real_words(result):
        said["real words"] = (
            f"How far {target} moves, {sized(target_of(result))}, when another real word of as "
            "many pieces stands there, on average."
        )
    if has_layers(result):
        said["times noise"] = (
            "How many times farther the worst small move takes the layer than random numbers as "
            "long do."
        )
    return said
