"""The same numbers elsewhere: the command line and the lines of Python that say what a place shows.

>>> words_command({"text": "I love her much", "model": "minilm"})
"wordsway words 'I love her much' --json"
>>> words_command({"text": "I love her", "model": "minilm", "colour": "local"})
"wordsway words 'I love her' --colour local --json"
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from wordsway.auditing.audit import DRAWS
from wordsway.probing.tiers import headline_tier


def words_command(ask: Mapping[str, Any]) -> str:
    options = [*_model(ask), *_where(ask)]
    for tier in ask.get("tiers") or ():
        options += ["--tier", tier]
    colour = _colour(ask)
    options += ["--colour", colour] if colour else []
    options += ["--cut"] if ask.get("cut") else []
    return _line("words", [ask["text"]], [*options, *_seed(ask), "--json"])


def words_python(ask: Mapping[str, Any]) -> str:
    """Of two texts both, and how far apart the model holds them.

    >>> print(words_python({"text": "I love her", "model": "minilm", "layer": "3"}))
    import wordsway as ws
    <BLANKLINE>
    words = ws.words('I love her', layer='3')
    words.show()
    print(words.frame())
    """
    named = {name: ask.get(name) for name in ("model", "layer", "target", "tiers")}
    named |= {"colour": _colour(ask), "cut": ask.get("cut"), "seed": ask.get("seed")}
    if ask.get("other"):
        both = f"({ask['text']!r}, {ask['other']!r})"
        each = _call("words", ["text"], named)
        between = _call(
            "pairs",
            [repr(ask["text"]), repr(ask["other"])],
            {"models": ask.get("model"), "seed": ask.get("seed")},
        )
        lines = [f"for text in {both}:", f"    print({each}.frame())", f"print({between}.frame())"]
        return "import wordsway as ws\n\n" + "\n".join(lines)
    call = _call("words", [repr(ask["text"])], named)
    return f"import wordsway as ws\n\nwords = {call}\nwords.show()\nprint(words.frame())"


def pairs_command(texts: list[str], ask: Mapping[str, Any]) -> str:
    """
    >>> pairs_command(["a drug", "no drug"], {"model": "minilm"})
    "wordsway pairs 'a drug' 'no drug' --json"
    """
    return _line("pairs", texts, [*_model(ask), *_seed(ask), "--json"])


def attention_command(ask: Mapping[str, Any]) -> str:
    """
    >>> ask = {"text": "I love her", "word": "2", "reach": 1.5, "layer": "4", "head": "3"}
    >>> attention_command(ask)
    "wordsway attract 'I love her' --word 2 --show-layer 4 --show-head 3 --reach 1.5 --json"
    """
    options = [*_model(ask), "--word", ask["word"]]
    options += ["--show-layer", ask["layer"]] if ask["layer"] != "1" else []
    options += ["--show-head", ask["head"]] if ask["head"] != "mean" else []
    options += ["--reach", f"{ask['reach']:g}"]
    return _line("attract", [ask["text"]], [*options, *_seed(ask), "--json"])


def attention_python(ask: Mapping[str, Any]) -> str:
    named = {"model": ask.get("model"), "show_layer": ask["layer"]}
    named |= {"show_head": None if ask["head"] == "mean" else ask["head"]}
    named |= {"reach": ask.get("reach"), "seed": ask.get("seed")}
    call = _call("attract", [repr(ask["text"]), repr(ask["word"])], named)
    return f"import wordsway as ws\n\nfound = {call}\nfound.show()\nprint(found.frame())"


def theory_command(ask: Mapping[str, Any]) -> str:
    """A file of `wordsway sweep`, and the command that runs it: the same cells."""
    grid = _grid(ask)
    return f"cat > grid.toml <<'END'\n{grid}\nEND\nwordsway sweep grid.toml --out out/grid"


def theory_python(ask: Mapping[str, Any]) -> str:
    """
    >>> maps = [{"map": "rf", "options": {}}]
    >>> ask = {"maps": maps, "n": [3, 5], "d": 6, "trials": 1, "seed": 0, "data": "gaussian"}
    >>> print(theory_python(ask))  # doctest: +NORMALIZE_WHITESPACE
    import wordsway as ws
    from wordsway.studies.spec import parse_study
    <BLANKLINE>
    study = parse_study('seed = 0\\ntrials = 1\\n\\n[[grid]]\\nmap = "rf"\\nn = [3,
    5]\\nd = 6\\ndata = "gaussian"')
    print(ws.sweep(study, 'out/grid').means())
    """
    return (
        "import wordsway as ws\nfrom wordsway.studies.spec import parse_study\n\n"
        f"study = parse_study({_grid(ask)!r})\nprint(ws.sweep(study, 'out/grid').means())"
    )


def _grid(ask: Mapping[str, Any]) -> str:
    """The study that a theory place shows, as TOML."""
    lines = [f"seed = {ask['seed']}", f"trials = {ask['trials']}"]
    for chosen in ask["maps"]:
        lines += ["", "[[grid]]", f"map = {json.dumps(chosen['map'])}"]
        lines += [f"n = {json.dumps(sorted(set(ask['n'])))}", f"d = {ask['d']}"]
        lines += [f"data = {json.dumps(ask['data'])}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in chosen["options"].items()]
    return "\n".join(lines)


def audit_command(ask: Mapping[str, Any]) -> str:
    """
    >>> audit_command({"models": ["minilm"], "data": "imdb", "texts": 40, "out": "out/audit"})
    'wordsway audit --model minilm --data imdb --texts 40 --out out/audit'
    """
    options = [part for name in ask["models"] for part in ("--model", name)]
    options += ["--data", ask["data"], "--texts", str(ask["texts"])]
    options += [part for name in ask.get("kinds") or () for part in ("--kind", name)]
    for name in ("target", "draws"):
        if ask.get(name, AUDIT_DEFAULTS[name]) != AUDIT_DEFAULTS[name]:
            options += [f"--{name}", str(ask[name])]
    return _line("audit", [], [*options, *_seed(ask), "--out", ask["out"]])


def audit_python(ask: Mapping[str, Any]) -> str:
    """
    >>> print(audit_python({"models": ["minilm"], "data": "imdb", "texts": 40, "out": "out/audit"}))
    import wordsway as ws
    <BLANKLINE>
    found = ws.audit(['minilm'], 'imdb', texts=40, out='out/audit')
    found.show()
    """
    said = [repr(list(ask["models"])), repr(ask["data"]), f"texts={ask['texts']}"]
    said += [
        f"{name}={ask[name]!r}"
        for name, usual in AUDIT_DEFAULTS.items()
        if ask.get(name, usual) != usual
    ]
    said.append(f"out={ask['out']!r}")
    return f"import wordsway as ws\n\nfound = ws.audit({', '.join(said)})\nfound.show()"


#: What an audit takes where nothing is said.
AUDIT_DEFAULTS = {"kinds": None, "target": "cosine", "draws": DRAWS, "seed": 0}


#: What the verbs take where nothing is said.
DEFAULTS = {
    "model": "minilm",
    "models": "minilm",
    "layer": "last",
    "target": "layer",
    "tiers": None,
    "colour": None,
    "cut": False,
    "seed": 0,
    "show_layer": "1",
    "show_head": None,
    "reach": 1.0,
}


def _call(verb: str, values: list[str], named: Mapping[str, Any]) -> str:
    said = values + [
        f"{name}={value!r}"
        for name, value in named.items()
        if value is not None and value != DEFAULTS[name]
    ]
    return f"ws.{verb}({', '.join(said)})"


def _line(command: str, texts: list[str], options: list[str]) -> str:
    """A command; a text that looks like an option stands behind --."""
    if any(text.startswith("-") for text in texts):
        return shlex.join(["wordsway", command, *options, "--", *texts])
    return shlex.join(["wordsway", command, *texts, *options])


def _colour(ask: Mapping[str, Any]) -> str | None:
    """The tier of the headline, where it is not the one that the request has without it."""
    colour: str | None = ask.get("colour")
    return None if colour == headline_tier(ask.get("tiers")) else colour


def _model(ask: Mapping[str, Any]) -> list[str]:
    return [] if ask.get("model", "minilm") == "minilm" else ["--model", ask["model"]]


def _seed(ask: Mapping[str, Any]) -> list[str]:
    return ["--seed", str(ask["seed"])] if ask.get("seed") else []


def _where(ask: Mapping[str, Any]) -> list[str]:
    layer, target = ask.get("layer", "last"), ask.get("target", "layer")
    parts = [] if target == "layer" else ["--target", target]
    return parts if target != "layer" or layer == "last" else ["--layer", layer]
