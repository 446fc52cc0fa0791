"""The same numbers elsewhere: the command line and the lines of Python that say what a place shows.

>>> words_command({"text": "I love her much", "model": "minilm"})
"wordsway words 'I love her much' --json"
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any


def words_command(ask: Mapping[str, Any]) -> str:
    options = [*_model(ask), *_where(ask)]
    for tier in ask.get("tiers") or ():
        options += ["--tier", tier]
    options += ["--cut"] if ask.get("cut") else []
    return _line("words", [ask["text"]], [*options, *_seed(ask), "--json"])


def words_python(ask: Mapping[str, Any]) -> str:
    """
    >>> print(words_python({"text": "I love her", "model": "minilm", "layer": "3"}))
    import wordsway as ws
    <BLANKLINE>
    words = ws.words('I love her', layer='3')
    words.show()
    print(words.frame())
    """
    named = {name: ask.get(name) for name in ("model", "layer", "target", "tiers", "cut", "seed")}
    call = _call("words", [ask["text"]], named)
    return f"import wordsway as ws\n\nwords = {call}\nwords.show()\nprint(words.frame())"


def pairs_command(texts: list[str], ask: Mapping[str, Any]) -> str:
    """
    >>> pairs_command(["a drug", "no drug"], {"model": "minilm"})
    "wordsway pairs 'a drug' 'no drug' --json"
    """
    return _line("pairs", texts, [*_model(ask), *_seed(ask), "--json"])


def attention_command(ask: Mapping[str, Any]) -> str:
    """
    >>> attention_command({"text": "I love her", "word": "2", "reach": 1.5})
    "wordsway attention 'I love her' --attract 2 --reach 1.5 --json"
    """
    options = [*_model(ask), "--attract", ask["word"], "--reach", f"{ask['reach']:g}"]
    return _line("attention", [ask["text"]], [*options, *_seed(ask), "--json"])


def attention_python(ask: Mapping[str, Any]) -> str:
    named = {name: ask.get(name) for name in ("model", "reach", "seed")}
    call = _call("attract", [ask["text"], ask["word"]], named)
    return f"import wordsway as ws\n\nfound = {call}\nfound.show()\nprint(found.frame())"


def theory_command(ask: Mapping[str, Any]) -> str:
    """A file of `wordsway sweep`, and the command that runs it: the same cells."""
    lines = [f"seed = {ask['seed']}", f"trials = {ask['trials']}"]
    for chosen in ask["maps"]:
        lines += ["", "[[grid]]", f"map = {json.dumps(chosen['map'])}"]
        lines += [f"n = {json.dumps(sorted(set(ask['n'])))}", f"d = {ask['d']}"]
        lines += [f"data = {json.dumps(ask['data'])}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in chosen["options"].items()]
    grid = "\n".join(lines)
    return f"cat > grid.toml <<'END'\n{grid}\nEND\nwordsway sweep grid.toml --out out/grid"


def theory_python(ask: Mapping[str, Any]) -> str:
    chosen = ask["maps"][0]
    sizes = f"n=n, d={ask['d']}, trials={ask['trials']}, seed={ask['seed']}, data={ask['data']!r}"
    options = "".join(f", {name}={value!r}" for name, value in chosen["options"].items())
    return (
        f"import wordsway as ws\n\nfor n in {sorted(set(ask['n']))}:\n"
        f"    found = ws.measure({chosen['map']!r}, {sizes}{options})\n    print(n, found.mean)"
    )


def audit_command(ask: Mapping[str, Any]) -> str:
    if not ask.get("models"):
        return f"wordsway audit --out {shlex.quote(ask['folder'])}"
    options = [part for name in ask["models"] for part in ("--model", name)]
    options += ["--data", ask["data"], "--texts", str(ask["texts"])]
    options += [part for name in ask["kinds"] or () for part in ("--kind", name)]
    return _line("audit", [], [*options, *_seed(ask), "--out", ask["folder"]])


def audit_python(ask: Mapping[str, Any]) -> str:
    if not ask.get("models"):
        said = f"open({ask['folder'] + '/audit.json'!r})"
        return f"import json\n\nfound = json.load({said})\nprint(found['models'][0]['kinds'])"
    said = f"{ask['models']!r}, {ask['data']!r}, texts={ask['texts']}, out={ask['folder']!r}"
    more = f", kinds={ask['kinds']!r}" if ask["kinds"] else ""
    return f"import wordsway as ws\n\nfound = ws.audit({said}{more})\nfound.show()"


#: What the verbs take where nothing is said.
DEFAULTS = {
    "model": "minilm",
    "layer": "last",
    "target": "layer",
    "tiers": None,
    "cut": False,
    "seed": 0,
    "head": "all",
    "reach": 1.0,
}


def _call(verb: str, values: list[Any], named: Mapping[str, Any]) -> str:
    said = [repr(value) for value in values]
    said += [
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


def _model(ask: Mapping[str, Any]) -> list[str]:
    return [] if ask.get("model", "minilm") == "minilm" else ["--model", ask["model"]]


def _seed(ask: Mapping[str, Any]) -> list[str]:
    return ["--seed", str(ask["seed"])] if ask.get("seed") else []


def _where(ask: Mapping[str, Any]) -> list[str]:
    layer, target = ask.get("layer", "last"), ask.get("target", "layer")
    parts = [] if target == "layer" else ["--target", target]
    return parts if target != "layer" or layer == "last" else ["--layer", layer]
