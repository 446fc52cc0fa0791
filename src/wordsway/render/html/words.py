"""Words of a real model as HTML: a fragment for a notebook, and one self-contained page that needs
no script to be read.
"""

from __future__ import annotations

import html
from collections.abc import Callable

from wordsway.escape import html_line, html_name, html_text
from wordsway.format import format_bytes, format_seconds
from wordsway.probing.results import Swaps, Words, WordSway
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import asset, document, facts_list
from wordsway.render.html.swaps import summary, swap_rows
from wordsway.render.html.words_chart import chart, spark
from wordsway.render.numbers import largest, number, share, times
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.words import (
    facts,
    headline,
    over_noise,
    pieces,
    ranked,
    top_of,
    worst_layer,
)

#: Rows of the fragment's table; the page lists every word.
SHOWN = 15
#: Characters from which a text fills a column of its own, with the chosen word beside it.
LONG = 900


@fragments.register(Words)
def words_fragment(words: Words) -> str:
    """The coloured text, its scale and the words that sway most: inline styles only, no script, no
    name that could clash.
    """

    def coloured(place: int, text: str) -> str:
        return f'<span title="{_tip(words, words.words[place])}" style="{_heat(words, place)};border-radius:.25em">{text}</span>'

    parts = [f"<div>{_lead(words)}</div>", elements.flow(_run(words, coloured))]
    if words.words:
        ramp = f"display:inline-block;width:9em;height:.75em;border-radius:.25em;vertical-align:-.05em;margin:0 .4em;{elements.ramp()}"
        low, high = (
            f'<span style="{elements.SOFT}">{end}</span>'
            for end in (f"S at layer {words.layer}: 0", number(top_of(words)))
        )
        parts += [f'<div>{low}<span style="{ramp}"></span>{high}</div>', _fragment_table(words)]
    told = f"{model_name(words.model)} · layer {words.layer} of {words.layers} · ρ = {words.reach:g} · seed {words.seed}"
    told += (
        f" · {format_seconds(words.seconds)} · {format_bytes(words.peak_mb * 1e6)} · {words.status}"
    )
    return elements.frame([*parts, elements.source(told)])


@pages.register(Words)
def words_page(words: Words) -> str:
    """One HTML document without any reference to another place. Without its script, every word's
    numbers unfold below the text.
    """
    title = "Word sensitivity"
    body = [
        f"<h1>{title}</h1>",
        f'<p class="lead">{_lead(words)}</p>',
        f'<div class="stage{" long" if len(words.text) > LONG else ""}">',
        _text(words),
    ]
    body += [
        '<section id="chosen" aria-label="the chosen word" aria-live="polite" hidden></section>',
        "</div>",
    ]
    if words.words:
        body += [f"<h2>{_count(words)}</h2>", _list(words)]
    known = {word.index for word in words.words}
    body += [_swaps(one, heading=True) for one in words.swaps if one.index not in known]
    body += ["<h2>Where these numbers come from</h2>", facts_list(facts(words))]
    return document(
        f"{title} · {model_name(words.model)}",
        body,
        style=asset("words.css"),
        data=words.to_dict(),
        script=asset("words.js"),
    )


def _lead(words: Words) -> str:
    if not words.words:
        return html_line(headline(words))
    top = words.top
    place = f"(word {top.index}) moves layer {words.layer} of {words.layers} most"
    return f"“<b>{html_name(top.word)}</b>” {place}: <b>{html_line(headline(words))}</b>"


def _tip(words: Words, word: WordSway) -> str:
    against = over_noise(word, words.layer)
    beyond = "" if against is None else f" · {times(against)} noise"
    return html.escape(
        f"word {word.index} · S = {number(word.sensitivity)}{beyond} · worst layer {worst_layer(word)}"
    )


def _heat(words: Words, place: int) -> str:
    return elements.tint(share(words.words[place].sensitivity, top_of(words)))


def _fragment_table(words: Words) -> str:
    order, top = ranked(words), top_of(words)
    heads = (
        ("#", elements.RIGHT),
        ("word", f"{elements.LEFT};max-width:16em;overflow-wrap:anywhere"),
        ("S", elements.RIGHT),
        ("", f"{elements.LEFT};width:9em"),
        ("times noise", elements.RIGHT),
        ("worst layer", elements.RIGHT),
        (f"layers 0…{words.layers}", elements.LEFT),
    )
    rows = [
        (
            str(word.index),
            html_name(word.word),
            number(word.sensitivity),
            elements.bar(share(word.sensitivity, top)),
            times(over_noise(word, words.layer)),
            str(worst_layer(word)),
            spark(word, words.layer, style="vertical-align:middle"),
        )
        for word in (words.words[place] for place in order[:SHOWN])
    ]
    more = len(order) - SHOWN
    least = number(words.words[order[min(SHOWN, len(order)) - 1]].sensitivity)
    rest = (
        f'<div style="opacity:.7">… and {more} more, none above {least}</div>' if more > 0 else ""
    )
    return elements.folded("The words that sway most", elements.table(heads, rows) + rest)


def _text(words: Words) -> str:
    def linked(place: int, text: str) -> str:
        return f'<a class="w" href="#w{place}" style="{_heat(words, place)}" title="{_tip(words, words.words[place])}">{text}</a>'

    scale = (
        f'<p class="scale">S at layer {words.layer}: <span>0</span><i style="{elements.ramp()}"></i><span>{number(top_of(words))}</span></p>'
        if words.words
        else ""
    )
    label = "the text, each word in the colour of its sensitivity"
    return f'<section class="text" aria-label="{label}"><p class="flow" dir="auto">{_run(words, linked)}</p>{scale}</section>'


def _run(words: Words, dressed: Callable[[int, str], str]) -> str:
    """The whole text in its order, each word as ``dressed(place, letters)``."""
    return "".join(
        html_text(text) if place is None else dressed(place, html_text(text))
        for text, place in pieces(words)
    )


def _count(words: Words) -> str:
    return f"{len(words.words)} words, the largest S first" if len(words.words) > 1 else "The word"


def _list(words: Words) -> str:
    top = top_of(words)
    heads = ("#", "word", "S", "", "× noise", "worst", f"layers 0…{words.layers}")
    rows = [
        f'<div class="row heads" aria-hidden="true">{"".join(f"<span>{head}</span>" for head in heads)}</div>'
    ]
    for rank, place in enumerate(ranked(words)):
        word = words.words[place]
        cells = (
            f'<span class="no">{word.index}</span><span class="name">{html_name(word.word)}</span>',
            f'<span class="num">{number(word.sensitivity)}</span><span class="bar">{elements.bar(share(word.sensitivity, top))}</span>',
            f'<span class="num">{times(over_noise(word, words.layer))}</span><span class="num">layer {worst_layer(word)}</span>',
            spark(word, words.layer),
        )
        opened = " open" if rank == 0 else ""
        rows.append(
            f'<details class="word"{opened}><summary class="row">{"".join(cells)}</summary>{_card(words, place)}</details>'
        )
    return f'<div class="list">{"".join(rows)}</div>'


def _card(words: Words, place: int) -> str:
    """Everything that is known about one word. A link to a card unfolds it, even without the
    script.
    """
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
    listed = "".join(
        f"<dt>{name}</dt><dd><bdi>{html_line(value)}</bdi></dd>" for name, value in numbers.items()
    )
    swaps = "".join(_swaps(one) for one in words.swaps if one.index == word.index)
    return f'<div class="card" id="w{place}">{chart(word, words.layer)}<dl>{listed}</dl>{_layers(words, word)}{swaps}</div>'


def _layers(words: Words, word: WordSway) -> str:
    heads = "".join(
        f'<th scope="col"{_marked(words, layer)}>{layer}</th>' for layer in range(len(word.profile))
    )
    lines = [("worst Δ", word.profile), ("noise", word.noise)] + (
        [("twin", word.twin)] if word.twin is not None else []
    )
    rows = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(
            f"<td{_marked(words, layer)}>{number(value)}</td>" for layer, value in enumerate(values)
        )
        + "</tr>"
        for name, values in lines
    )
    return f'<div class="scroll layers"><table><thead><tr><th scope="row">layer</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _marked(words: Words, layer: int) -> str:
    return ' class="at"' if layer == words.layer else ""


def _swaps(swaps: Swaps, *, heading: bool = False) -> str:
    """The real words that move the target most, beside the worst Δ."""
    rows = "".join(
        f'<tr><td class="name">{name}</td><td class="num">{change}</td><td class="bar">{part}</td></tr>'
        for name, change, part in swap_rows(swaps)
    )
    kind = "h2" if heading else "h3"
    title = f"Real words for “{html_name(swaps.word)}” (word {swaps.index}), by the change of {html_line(swaps.target)}"
    told = html_line(summary(swaps))
    return f'<div class="swaps"><{kind}>{title}</{kind}><table><tbody>{rows}</tbody></table><p class="soft">{told}.</p></div>'
