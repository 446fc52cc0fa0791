"""A verb with its options as a command line, and as a call in Python.

>>> line("words", ["I love her"], {"model": "minilm", "tiers": ["local"], "cut": True})
"wordsway words 'I love her' --tier local --cut"
>>> call("words", ["I love her"], {"model": "minilm", "tiers": ["local"], "cut": True})
"ws.words('I love her', tiers=['local'], cut=True)"
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from wordsway.auditing.audit import DRAWS
from wordsway.lengths.length import LEVEL
from wordsway.probing.tiers import headline_tier

#: Values that a verb uses by default; None, False and 0 are always left out.
DEFAULTS: dict[str, dict[str, Any]] = {
    "words": {"model": "minilm", "layer": "last", "target": "layer"},
    "pairs": {"models": ["minilm"]},
    "attract": {"model": "minilm", "show_layer": "1"},
    "audit": {"target": "cosine", "draws": DRAWS},
    "length": {"data": "imdb", "place": "own", "level": LEVEL, "windows": "1,2,4,8,16"},
}
#: Lists in Python, repeated options on the command line.
REPEATED = {"models": "model", "tiers": "tier", "kinds": "kind"}


def line(verb: str, texts: Sequence[str], options: Mapping[str, Any]) -> str:
    """A command; texts that look like options are put behind ``--``."""
    parts: list[str] = []
    for name, value in _chosen(verb, options).items():
        flag = "--" + REPEATED.get(name, name).replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            parts += [flag] if one is True else [flag, str(one)]
    if any(text.startswith("-") for text in texts):
        return shlex.join(["wordsway", verb, *parts, "--", *texts])
    return shlex.join(["wordsway", verb, *texts, *parts])


def call(verb: str, values: Sequence[Any], options: Mapping[str, Any]) -> str:
    """A call of the verb in Python."""
    named = [f"{name}={value!r}" for name, value in _chosen(verb, options).items()]
    return f"ws.{verb}({', '.join([*map(repr, values), *named])})"


def script(expression: str, name: str = "found") -> str:
    """Lines of Python that show a result and its table."""
    return f"import wordsway as ws\n\n{name} = {expression}\n{name}.show()\nprint({name}.frame())"


def _chosen(verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
    usual = DEFAULTS[verb]
    return {name: one for name, one in options.items() if one and one != usual.get(name)}


def words_command(request: Mapping[str, Any]) -> str:
    return line("words", [request["text"]], _words(request) | {"json": True})


def words_python(request: Mapping[str, Any]) -> str:
    """
    >>> print(words_python({"text": "I love her", "model": "minilm", "layer": "3"}))
    import wordsway as ws
    <BLANKLINE>
    words = ws.words('I love her', layer='3')
    words.show()
    print(words.frame())
    """
    if not request.get("other"):
        return script(call("words", [request["text"]], _words(request)), "words")
    texts = [request["text"], request["other"]]
    each = call("words", ["text"], _words(request)).replace("'text'", "text", 1)
    between = call("pairs", texts, _pairs(request))
    lines = [f"for text in {texts!r}:", f"    print({each}.frame())", f"print({between}.frame())"]
    return "import wordsway as ws\n\n" + "\n".join(lines)


def pairs_command(texts: list[str], request: Mapping[str, Any]) -> str:
    """
    >>> pairs_command(["a drug", "no drug"], {"model": "minilm"})
    "wordsway pairs 'a drug' 'no drug' --json"
    """
    return line("pairs", texts, _pairs(request) | {"json": True})


def _words(request: Mapping[str, Any]) -> dict[str, Any]:
    names = ["model", "target", "tiers", "word", "cut", "seed"]
    names += ["layer"] if request.get("target", "layer") == "layer" else []
    colour = request.get("colour")
    usual = headline_tier(request.get("tiers"))
    named = {name: request.get(name) for name in names}
    return named | {"colour": None if colour == usual else colour}


def _pairs(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"models": [request.get("model", "minilm")], "seed": request.get("seed")}
