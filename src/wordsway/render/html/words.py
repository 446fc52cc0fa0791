"""Words of a real model as HTML: a fragment for a notebook, and one self-contained page that needs
no script to be read.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from wordsway.core.escape import html_line, html_name, html_text
from wordsway.core.format import format_bytes, format_seconds
from wordsway.probing.results import Swaps, Words, WordSway
from wordsway.probing.tiers import TIERS
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.blocks import render
from wordsway.render.html.page import asset, document, facts_list
from wordsway.render.html.words_chart import curve_chart, profile_chart, real_chart
from wordsway.render.numbers import number
from wordsway.render.views import view_of
from wordsway.render.views.provenance import model_name
from wordsway.render.wording.word_columns import other_columns
from wordsway.render.wording.words import (
    bar_end,
    facts,
    has_scale,
    headline,
    interval,
    meaning,
    moved_by,
    notes,
    pieces,
    ranked,
    ranks,
    scale,
    score,
    shades,
    target_name,
    tier_numbers,
    tip,
)

#: Rows of the fragment's table; the page lists every word.
SHOWN = 15
#: Characters from which a text fills a column of its own, with the chosen word beside it.
LONG = 900
#: The faintest colour of a word, so that the smallest number is a number, too.
FAINTEST = 0.06


@fragments.register(Words)
def words_fragment(words: Words) -> str:
    """The coloured text, its scale and the words with the largest numbers: inline styles only, no
    script, no name that could clash.
    """

    def coloured(place: int, text: str) -> str:
        look = f"{heat[place]};border-radius:.25em"
        return f'<span title="{_tip(words, place)}" style="{look}">{text}</span>'

    heat = _heat(words)
    parts = [elements.paragraph(_lead(words)), elements.flow(_run(words, coloured))]
    if has_scale(words):
        look = (
            "display:inline-block;width:9em;height:.75em;border-radius:.25em;"
            f"vertical-align:-.05em;margin:0 .4em;{elements.ramp()}"
        )
        low, high = (number(end) for end in scale(words))
        legend = f'{TIERS[words.tier].title}: {low}<span style="{look}"></span>{high}'
        parts.append(f'<div style="{elements.SOFT}">{legend}</div>')
    if words.words:
        parts.append(_fragment_table(words))
        parts.append(elements.soft(meaning(words)))
    parts += [elements.paragraph(f"<b>{html_line(note)}</b>") for note in notes(words)]
    how = (
        f"{model_name(words.model)} · {target_name(words)} · seed {words.seed} · "
        f"{format_seconds(words.seconds)} · {format_bytes(words.peak_mb * 1e6)} · {words.status}"
    )
    return elements.frame([*parts, elements.source(how)])


@pages.register(Words)
def words_page(words: Words) -> str:
    """One HTML document without any reference to another place. Without its script, every word's
    numbers unfold below the text.
    """
    name = "Word sensitivity"
    body = [f"<h1>{name}</h1>", f'<p class="lead">{_lead(words)}</p>']
    body += [f'<p class="note">{html_line(note)}</p>' for note in notes(words)]
    body += [
        f'<div class="stage{" long" if len(words.text) > LONG else ""}">',
        _text(words),
        '<section id="chosen" aria-label="the chosen word" aria-live="polite" hidden></section>',
        "</div>",
    ]
    if words.words:
        body += [f"<h2>{_count(words)}</h2>", _list(words)]
    known = {word.index for word in words.words}
    body += [_swaps(swaps) for swaps in words.swaps if swaps.index not in known]
    body += ["<h2>Where these numbers come from</h2>", facts_list(facts(words))]
    return document(
        f"{name} · {model_name(words.model)}",
        body,
        style=asset("words.css"),
        data=words.to_dict(),
        script=asset("words.js"),
    )


def _lead(words: Words) -> str:
    found = headline(words)
    names = ", ".join(f"“<b>{html_name(name)}</b>” (word {index})" for name, index in found.names)
    gap = "" if found.text.startswith(":") or not found.names else " "
    return f"{names}{gap}{html_line(found.text)}"


def _tip(words: Words, place: int) -> str:
    return html.escape(tip(words, words.words[place]))


def _heat(words: Words) -> list[str]:
    """The style of every word's ground."""
    return [
        elements.tint(FAINTEST + (1 - FAINTEST) * shade) if score(words, word) else ""
        for shade, word in zip(shades(words), words.words, strict=True)
    ]


def _others(words: Words) -> list[str]:
    return [tier for tier in words.tiers if tier != words.tier]


def _bar(words: Words, word: WordSway) -> str:
    """Up to two standard errors below the number in full colour, to two above in a light one."""
    pair = score(words, word)
    if pair is None:
        return ""
    value, error = pair
    return elements.interval_bar(value - 2 * error, value + 2 * error, bar_end(words))


def _named(word: WordSway) -> str:
    unknown = ' <span style="opacity:.7">[UNK]</span>' if word.unknown else ""
    return html_name(word.word) + unknown


def _fragment_table(words: Words) -> str:
    order = ranked(words)
    rank = ranks(words)
    more = other_columns(words)
    heads = [
        ("rank", elements.RIGHT),
        ("#", elements.RIGHT),
        ("word", elements.WORD),
        (TIERS[words.tier].title, elements.RIGHT),
        ("", f"{elements.LEFT};width:9em"),
        *((column.name, elements.RIGHT) for column in more),
    ]
    rows: list[Sequence[str]] = []
    for place in order[:SHOWN]:
        word = words.words[place]
        value = interval(score(words, word))
        rows.append(
            [
                rank[place],
                str(word.index),
                _named(word),
                value,
                _bar(words, word),
                *(html_line(column.cell(word)) for column in more),
            ]
        )
    left = len(order) - SHOWN
    least = (score(words, words.words[order[min(SHOWN, len(order)) - 1]]) or (0.0, 0.0))[0]
    rest = elements.soft(f"… and {left} more, none above {number(least)}") if left > 0 else ""
    told = elements.explained({column.name: column.sentence for column in more})
    return elements.folded("The largest numbers", elements.table(heads, rows) + rest + told)


def _text(words: Words) -> str:
    heat = _heat(words)

    def linked(place: int, text: str) -> str:
        look = f'style="{heat[place]}" title="{_tip(words, place)}"'
        return f'<a class="w" href="#w{place}" {look}>{text}</a>'

    legend = ""
    if has_scale(words):
        low, high = (number(end) for end in scale(words))
        ramp = f'<span>{low}</span><i style="{elements.ramp()}"></i><span>{high}</span>'
        legend = f'<p class="scale">{TIERS[words.tier].title}: {ramp}</p>'
    if words.words:
        legend += f'<p class="scale">{html_line(meaning(words))}</p>'
    label = f"the text, each word in the colour of its {TIERS[words.tier].title} number"
    run = f'<p class="flow" dir="auto">{_run(words, linked)}</p>'
    return f'<section class="text" aria-label="{label}">{run}{legend}</section>'


def _run(words: Words, dressed: Callable[[int, str], str]) -> str:
    """The whole text in its order, each word as ``dressed(place, letters)``."""
    return "".join(
        html_text(text) if place is None else dressed(place, html_text(text))
        for text, place in pieces(words)
    )


def _count(words: Words) -> str:
    count = len(words.words)
    return f"{count} words, the largest number first" if count > 1 else "The word"


def _list(words: Words) -> str:
    others = _others(words)[:2]
    heads = [
        "rank",
        "#",
        "word",
        TIERS[words.tier].title,
        "",
        *(TIERS[tier].title for tier in others),
    ]
    heads += [""] * (2 - len(others)) + ["pieces"]
    spans = "".join(f"<span>{head}</span>" for head in heads)
    rows = [f'<div class="row heads" aria-hidden="true">{spans}</div>']
    rank = ranks(words)
    for position, place in enumerate(ranked(words)):
        word = words.words[place]
        numbers = [number((word.score(tier) or (None,))[0]) for tier in others]
        numbers += [""] * (2 - len(others)) + [str(word.pieces)]
        cells = (
            f'<span class="no">{rank[place]}</span><span class="no index">{word.index}</span>'
            f'<span class="name">{_named(word)}</span>'
            f'<span class="num">{interval(score(words, word))}</span>'
            f'<span class="bar">{_bar(words, word)}</span>'
            + "".join(f'<span class="num">{value}</span>' for value in numbers)
        )
        opened = " open" if position == 0 else ""
        rows.append(
            f'<details class="word"{opened}><summary class="row">{cells}</summary>'
            f"{_card(words, place)}</details>"
        )
    told = elements.explained(
        {column.name: column.sentence for column in other_columns(words) if column.name in heads}
    )
    return f'<div class="list">{"".join(rows)}</div>{told}'


def _card(words: Words, place: int) -> str:
    """Everything that is known about one word. A link to a card unfolds it, even without the
    script.
    """
    word = words.words[place]
    listed = "".join(
        f"<dt>{name}</dt><dd><bdi>{html_line(value)}</bdi></dd>"
        for name, value in tier_numbers(words, word).items()
    )
    charts = []
    if word.real is not None and word.real.changes:
        charts.append(_figure(f"{word.real.draws} real words", real_chart(word.real)))
    if word.curve is not None:
        charts.append(_figure("how far it can move", curve_chart(word.curve, word.upper)))
    if word.profile is not None:
        charts.append(
            _figure(
                f"every layer, by the {moved_by(word)} and by noise, both as long",
                profile_chart(word, words.layer),
            )
        )
    table = _layers(words, word) if word.profile is not None else ""
    swaps = "".join(_swaps(swaps) for swaps in words.swaps if swaps.index == word.index)
    return (
        f'<div class="card" id="w{place}"><dl>{listed}</dl>'
        f'<div class="charts">{"".join(charts)}</div>{table}{swaps}</div>'
    )


def _figure(caption: str, drawn: str) -> str:
    return f'<div class="figure"><div class="soft">{caption}</div>{drawn}</div>'


def _layers(words: Words, word: WordSway) -> str:
    profile = word.profile or ()
    heads = "".join(
        f'<th scope="col"{_marked(words, layer)}>{layer}</th>' for layer in range(len(profile))
    )
    lines = [(moved_by(word), profile), ("noise", word.noise or ()), ("twin", word.twin or ())]
    rows = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(
            f"<td{_marked(words, layer)}>{number(value)}</td>" for layer, value in enumerate(values)
        )
        + "</tr>"
        for name, values in lines
        if values
    )
    head = f'<thead><tr><th scope="row">layer</th>{heads}</tr></thead>'
    return f'<div class="scroll layers"><table>{head}<tbody>{rows}</tbody></table></div>'


def _marked(words: Words, layer: int) -> str:
    return ' class="at"' if layer == words.layer else ""


def _swaps(swaps: Swaps) -> str:
    return f'<div class="swaps">{render(view_of(swaps).blocks)}</div>'
