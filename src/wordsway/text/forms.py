"""Forms of English words: base forms of an inflected word, and the same inflection of another.

Regular endings are a few rules; irregular words are a table. Where a form is not sure, there is
none: an edit that is not made is better than one that is not English.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

#: "": the base; "s": third person or plural; "ed": past; "en": participle; "ing".
Form = Literal["", "s", "ed", "en", "ing"]
#: Words that no rule covers.
ENGLISH = tomllib.loads(files("wordsway.text").joinpath("english.toml").read_text("utf-8"))
VERBS: dict[str, tuple[str, str]] = {
    base: (past, participle)
    for base, past, participle in (
        row.split() for row in ENGLISH["irregular_verbs"].replace("\n", "|").split("|") if row
    )
}
DOUBLED = frozenset(ENGLISH["doubled"].split())
PLURALS: dict[str, str] = ENGLISH["plurals"]
VOWELS = "aeiou"


def inflected(base: str, form: Form) -> str:
    """A verb in a form.

    >>> [inflected("love", form) for form in ("s", "ed", "ing")], inflected("begin", "en")
    (['loves', 'loved', 'loving'], 'begun')
    >>> inflected("stop", "ing"), inflected("try", "s"), inflected("enjoy", "ed")
    ('stopping', 'tries', 'enjoyed')
    """
    if form == "":
        return base
    if form == "s":
        return {"be": "is", "have": "has", "do": "does", "go": "goes"}.get(base) or _with_s(base)
    if form == "ing":
        if base.endswith("ie"):
            return f"{base[:-2]}ying"
        if base.endswith("e") and not base.endswith(("ee", "ye", "oe")):
            return f"{base[:-1]}ing"
        return f"{_doubled(base)}ing"
    if base in VERBS:
        return VERBS[base][0 if form == "ed" else 1]
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ied"
    return f"{_doubled(base)}ed"


def _with_s(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return f"{base}es"
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ies"
    return f"{base}s"


def _doubled(base: str) -> str:
    """The base with its last consonant doubled, where English does."""
    short = len(base) >= 3 and base[-1] not in f"{VOWELS}wxy" and base[-2] in VOWELS
    one_syllable = sum(letter in VOWELS for letter in base) == 1
    return base + base[-1] if short and (one_syllable or base in DOUBLED) else base


@cache
def verb_forms(word: str) -> tuple[tuple[str, Form], ...]:
    """The bases that a word can be a verb form of, with that form; also bases that are no verbs.

    >>> ("love", "ed") in verb_forms("loved"), ("begin", "ed") in verb_forms("began")
    (True, True)
    """
    found: list[tuple[str, Form]] = [(word, "")]
    for base, (past, participle) in VERBS.items():
        if word == past:
            found.append((base, "ed"))
        if word == participle:
            found.append((base, "en"))
    endings: tuple[tuple[str, Form], ...] = (("s", "s"), ("ed", "ed"), ("ing", "ing"))
    for ending, form in endings:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stems = _stems(word[: -len(ending)], form)
            found += [(base, form) for base in stems if inflected(base, form) == word]
    return tuple(found)


def _stems(stem: str, form: Form) -> list[str]:
    stems = [stem, f"{stem}e"]
    if form == "s":
        stems = [stem, stem.removesuffix("e")]
    if stem.endswith("ie"):
        stems.append(f"{stem[:-2]}y")
    if stem.endswith("i"):
        stems.append(f"{stem[:-1]}y")
    if len(stem) > 2 and stem[-1] == stem[-2]:
        stems.append(stem[:-1])
    return stems


def plural(noun: str) -> str:
    """
    >>> plural("woman"), plural("beginning"), plural("city")
    ('women', 'beginnings', 'cities')
    """
    return PLURALS.get(noun) or _with_s(noun)


def singular(noun: str) -> str | None:
    """The noun that this is the plural of, by its spelling; None where it is none.

    >>> singular("women"), singular("cities"), singular("boxes"), singular("bus")
    ('woman', 'city', 'box', None)
    """
    for one, many in PLURALS.items():
        if noun == many:
            return one
    if not noun.endswith("s") or noun.endswith(("ss", "us", "is")):
        return None
    return next((one for one in _stems(noun[:-1], "s")[::-1] if plural(one) == noun), None)


#: Words that begin with a vowel letter and a consonant sound, and the other way round.
_LIKE_YOU = ("eu", "uni", "use", "usu", "uti", "one", "once", "ubiq", "uran")
_SILENT_H = ("hour", "honest", "honor", "honour", "heir")


def takes_an(word: str) -> bool:
    """Does "an" stand before this word?

    >>> [takes_an(word) for word in ("old", "unique", "uninteresting", "hour", "bad")]
    [True, False, True, True, False]
    """
    lower = word.lower()
    if lower.startswith(_SILENT_H):
        return True
    if lower.startswith(("unin", "unim")):
        return True
    return lower[:1] in VOWELS and not lower.startswith(_LIKE_YOU)
