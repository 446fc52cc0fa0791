"""Words of a real model as HTML: a fragment for a notebook, and one self-contained page that needs no script to be read."""

from __future__ import annotations

import base64
import hashlib
import html
import json

from wordsway.memory import duration, in_words
from wordsway.probe.results import Swaps, Words, WordSway
from wordsway.report.page import STYLE
from wordsway.report.probe_look import LOOK, SCRIPT
from wordsway.report.probe_parts import (
    facts,
    headline,
    largest,
    model_name,
    number,
    one_line,
    over_noise,
    pieces,
    ranked,
    readable,
    share,
    times,
    top_of,
    worst_layer,
)
from wordsway.report.probe_svg import chart, spark

#: A translucent orange reads under dark letters on white and under light letters on black.
HEAT, STRONGEST = "213,94,0", 0.78
#: Rows of the fragment's table; the page lists every word.
SHOWN = 15
#: Characters from which a text fills a column of its own, with the chosen word beside it.
LONG = 900


def words_fragment(words: Words) -> str:
    """The coloured text, its scale and the words that sway most: inline styles only, no script, no name that could clash."""
    soft = "opacity:.7;font-size:.9em"
    run = [
        _escaped(text)
        if place is None
        else f'<span title="{_tip(words, words.words[place])}" style="{_heat(words, place)};border-radius:.25em">{_escaped(text)}</span>'
        for text, place in pieces(words)
    ]
    flow = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;line-height:1.9;margin:.5em 0"
    parts = [f"<div>{_lead(words)}</div>", f'<div dir="auto" style="{flow}">{"".join(run)}</div>']
    if words.words:
        ramp = f"display:inline-block;width:9em;height:.75em;border-radius:.25em;vertical-align:-.05em;margin:0 .4em;{_ramp()}"
        ends = f'<span style="{soft}">S at layer {words.layer}: 0</span>', f'<span style="{soft}">{number(top_of(words))}</span>'
        parts += [f'<div>{ends[0]}<span style="{ramp}"></span>{ends[1]}</div>', _fragment_table(words)]
    source = f"{model_name(words.model)} · layer {words.layer} of {words.layers} · ρ = {number(words.reach)} · seed {words.seed}"
    source += f" · {duration(words.seconds)} · {in_words(words.peak_mb * 1e6)} · {words.status}"
    parts.append(f'<div style="{soft};margin-top:.5em"><bdi>{_line(source)}</bdi></div>')
    return f'<div style="max-width:62em;color:inherit;font-family:inherit">{"".join(parts)}</div>'


def words_page(words: Words) -> str:
    """One HTML document without any reference to another place. Without its script, every word's numbers unfold below the text."""
    title = "Word sensitivity"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_digest(SCRIPT)}'; base-uri 'none'; form-action 'none'"
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · {_line(model_name(words.model))}</title><style>{STYLE}{LOOK}</style></head>\n"
    )
    body = [
        f"<h1>{title}</h1>",
        f'<p class="lead">{_lead(words)}</p>',
        f'<div class="stage{" long" if len(words.text) > LONG else ""}">',
        _text(words),
    ]
    body += ['<section id="chosen" aria-label="the chosen word" aria-live="polite" hidden></section>', "</div>"]
    if words.words:
        body += [f"<h2>{_count(words)}</h2>", _list(words)]
    known = {word.index for word in words.words}
    body += [_swaps(one, heading=True) for one in words.swaps if one.index not in known]
    body += ["<h2>Where these numbers come from</h2>", _facts(words)]
    data = f'<script type="application/json" id="result">{_json(words)}</script>'
    return f"{head}<body><main>\n" + "\n".join(body) + f"\n</main>\n{data}\n<script>{SCRIPT}</script></body></html>\n"


def _escaped(text: object) -> str:
    return html.escape(readable(text))


def _line(text: object) -> str:
    return html.escape(one_line(text))


def _name(word: str) -> str:
    """A word that keeps its direction to itself."""
    return f"<bdi>{_line(word)}</bdi>"


def _lead(words: Words) -> str:
    if not words.words:
        return _line(headline(words))
    top = words.top
    place = f"(word {top.index}) moves layer {words.layer} of {words.layers} most"
    return f"“<b>{_name(top.word)}</b>” {place}: <b>{_line(headline(words))}</b>"


def _tip(words: Words, word: WordSway) -> str:
    against = over_noise(word, words.layer)
    beyond = "" if against is None else f" · {times(against)} noise"
    return html.escape(f"word {word.index} · S = {number(word.sensitivity)}{beyond} · worst layer {worst_layer(word)}")


def _heat(words: Words, place: int) -> str:
    depth = STRONGEST * share(words.words[place].sensitivity, top_of(words))
    return f"background:rgba({HEAT},{depth:.3f})"


def _ramp() -> str:
    return f"background:linear-gradient(90deg,rgba({HEAT},0),rgba({HEAT},{STRONGEST}));border:1px solid rgba(128,128,128,.35)"


def _bar(part: float, colour: str = "#d55e00") -> str:
    return f'<span style="display:block;height:.7em;border-radius:2px;background:{colour};width:{100 * part:.1f}%"></span>'


def _fragment_table(words: Words) -> str:
    order, top, right = ranked(words), top_of(words), "text-align:right;padding:.15em .7em;font-variant-numeric:tabular-nums"
    left = "text-align:left;padding:.15em .7em"
    names = (("#", right), ("word", left), ("S", right), ("", left), ("times noise", right), ("worst layer", right))
    heads = "".join(f'<th style="{look};opacity:.7">{name}</th>' for name, look in (*names, (f"layers 0…{words.layers}", left)))
    rows = []
    for word in (words.words[place] for place in order[:SHOWN]):
        cells = (
            (str(word.index), right),
            (_name(word.word), f"{left};max-width:16em;overflow-wrap:anywhere"),
            (number(word.sensitivity), right),
            (_bar(share(word.sensitivity, top)), f"{left};width:9em"),
            (times(over_noise(word, words.layer)), right),
            (str(worst_layer(word)), right),
            (spark(word, words.layer, style="vertical-align:middle"), left),
        )
        rows.append('<tr style="background:none">' + "".join(f'<td style="{look}">{cell}</td>' for cell, look in cells) + "</tr>")
    more = len(order) - SHOWN
    rest = (
        f'<div style="opacity:.7">… and {more} more, none above {number(words.words[order[SHOWN - 1]].sensitivity)}</div>'
        if more > 0
        else ""
    )
    look = "border-collapse:collapse;border:0;margin:.4em 0"
    table = f'<table style="{look}"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    body = f'<summary>The words that sway most</summary><div style="overflow-x:auto">{table}</div>{rest}'
    return f'<details open style="margin-top:.5em">{body}</details>'


def _text(words: Words) -> str:
    run = [
        _escaped(text)
        if place is None
        else f'<a class="w" href="#w{place}" style="{_heat(words, place)}" title="{_tip(words, words.words[place])}">{_escaped(text)}</a>'
        for text, place in pieces(words)
    ]
    scale = (
        f'<p class="scale">S at layer {words.layer}: <span>0</span><i style="{_ramp()}"></i><span>{number(top_of(words))}</span></p>'
        if words.words
        else ""
    )
    label = "the text, each word in the colour of its sensitivity"
    return f'<section class="text" aria-label="{label}"><p class="flow" dir="auto">{"".join(run)}</p>{scale}</section>'


def _count(words: Words) -> str:
    return f"{len(words.words)} words, the largest S first" if len(words.words) > 1 else "The word"


def _list(words: Words) -> str:
    top = top_of(words)
    heads = ("#", "word", "S", "", "× noise", "worst", f"layers 0…{words.layers}")
    rows = [f'<div class="row heads" aria-hidden="true">{"".join(f"<span>{head}</span>" for head in heads)}</div>']
    for rank, place in enumerate(ranked(words)):
        word = words.words[place]
        cells = (
            f'<span class="no">{word.index}</span><span class="name">{_name(word.word)}</span>',
            f'<span class="num">{number(word.sensitivity)}</span><span class="bar">{_bar(share(word.sensitivity, top))}</span>',
            f'<span class="num">{times(over_noise(word, words.layer))}</span><span class="num">layer {worst_layer(word)}</span>',
            spark(word, words.layer),
        )
        opened = " open" if rank == 0 else ""
        rows.append(f'<details class="word"{opened}><summary class="row">{"".join(cells)}</summary>{_card(words, place)}</details>')
    return f'<div class="list">{"".join(rows)}</div>'


def _card(words: Words, place: int) -> str:
    """Everything that is known about one word. A link to a card unfolds it, even without the script."""
    word = words.words[place]
    pieces_of = ", ".join(words.tokens[row] for row in word.rows if row < len(words.tokens))
    numbers = {
        "S": f"{number(word.sensitivity)} at layer {words.layer}",
        "noise": f"{number(word.noise[words.layer])}; S is {times(over_noise(word, words.layer))} that",
        "worst layer": f"{worst_layer(word)}, changed by {number(largest(word.profile))}",
        "‖Δ‖ ≤": number(word.radius),
        "tokens": pieces_of or "–",
    }
    if word.twin is not None:
        numbers["random twin"] = f"{number(word.twin[words.layer])} at layer {words.layer}"
    listed = "".join(f"<dt>{name}</dt><dd><bdi>{_line(value)}</bdi></dd>" for name, value in numbers.items())
    swaps = "".join(_swaps(one) for one in words.swaps if one.index == word.index)
    return f'<div class="card" id="w{place}">{chart(word, words.layer)}<dl>{listed}</dl>{_layers(words, word)}{swaps}</div>'


def _layers(words: Words, word: WordSway) -> str:
    heads = "".join(f'<th scope="col"{_marked(words, layer)}>{layer}</th>' for layer in range(len(word.profile)))
    lines = [("worst Δ", word.profile), ("noise", word.noise)] + ([("twin", word.twin)] if word.twin is not None else [])
    rows = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td{_marked(words, layer)}>{number(value)}</td>" for layer, value in enumerate(values))
        + "</tr>"
        for name, values in lines
    )
    return f'<div class="scroll layers"><table><thead><tr><th scope="row">layer</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _marked(words: Words, layer: int) -> str:
    return ' class="at"' if layer == words.layer else ""


def _swaps(swaps: Swaps, *, heading: bool = False) -> str:
    """The real words that move the target most, beside the worst Δ."""
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    lines = [(_name(swap.word), swap.change, "#d55e00") for swap in swaps.swaps]
    lines += [("<i>worst Δ</i>", swaps.worst, "#8a8f98")] if swaps.worst is not None else []
    rows = "".join(
        f'<tr><td class="name">{name}</td><td class="num">{number(change)}</td><td class="bar">{_bar(share(change, top), colour)}</td></tr>'
        for name, change, colour in lines
    )
    told = f"{swaps.candidates:,} candidates, {swaps.evaluated:,} evaluated exactly"
    if swaps.reached is not None:
        told = f"The best reaches {100 * swaps.reached:.3g} % of the worst Δ. {told}"
    kind = "h2" if heading else "h3"
    title = f"Real words for “{_name(swaps.word)}” (word {swaps.index}), by the change of {_line(swaps.target)}"
    return f'<div class="swaps"><{kind}>{title}</{kind}><table><tbody>{rows}</tbody></table><p class="soft">{_line(told)}.</p></div>'


def _facts(words: Words) -> str:
    return "<dl>" + "".join(f"<dt>{_line(name)}</dt><dd><bdi>{_line(value)}</bdi></dd>" for name, value in facts(words).items()) + "</dl>"


def _json(words: Words) -> str:
    """JSON in plain ASCII that ends no script and opens no comment: < > & only as \\u003c and so on."""
    plain = json.dumps(words.to_dict(), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\x7f", "\\u007f")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
