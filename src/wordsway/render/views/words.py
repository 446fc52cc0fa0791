"""The words of a text in a real model: the coloured text, the numbers, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wordsway.core.format import format_bytes, format_seconds
from wordsway.probing.results import Words, WordSway
from wordsway.probing.targets import named, sized
from wordsway.probing.tiers import TIERS, Errors, difference_errors, leaders, rank_ranges
from wordsway.render import blocks as b
from wordsway.render.numbers import digits, number, percent, spread
from wordsway.render.views.common import model_name, provenance
from wordsway.render.views.swaps import labelled, swaps_view

#: Rows of the table in a terminal; bars of the picture; values of the legend.
SHOWN, DRAWN, STEPS = 15, 40, 6
#: Words named in a tie.
NAMED = 3
#: What the margin of a label is.
MARGIN = "its logit or score minus the largest other one"
ROWS = {
    "frobenius": "",
    "rows": " A few rows hold most of the norm here (an attention sink), so all rows have equal "
    "weight: the root mean square over rows of each row's own relative change.",
}


@dataclass(frozen=True)
class Headline:
    """One sentence: the words it is about, quoted by the medium, and what it says of them."""

    names: tuple[tuple[str, int], ...]
    text: str

    @property
    def parts(self) -> tuple[b.Inline, ...]:
        """The sentence, with the words in bold."""
        parts: list[b.Inline] = []
        for name, index in self.names:
            parts += [", “" if parts else "“", b.Span(name, "bold"), f"” (word {index})"]
        gap = "" if self.text.startswith(":") or not parts else " "
        return (*parts, gap + self.text)


def words_view(words: Words) -> b.ResultView:
    """The coloured text, the words with the largest numbers, and what they mean."""
    blocks: list[b.Block] = [b.Sentence(headline(words).parts)]
    blocks += [b.soft(said) for said in other_firsts(words)]
    blocks.append(_coloured(words))
    if words.words:
        if has_scale(words):
            blocks.append(b.Scale(tier_title(words, words.tier), legend(words, STEPS)))
        blocks += [_table(words), b.soft(meaning(words))]
    blocks += [b.headline(note) for note in notes(words)]
    if searched := [word for word in words.words if word.profile]:
        title = f"The change of every layer, by the {moved_by(searched[0].curve)} of each word"
        blocks.append(b.Fold(title, [_layers(words)], open=False, terminal=False))
    blocks += [b.Fold("Real words in one place", swaps_view(one).blocks) for one in words.swaps]
    how = [
        model_name(words.model),
        target_name(words),
        f"seed {words.seed}",
        format_seconds(words.seconds),
        format_bytes(words.peak_mb * 1e6),
        *(["converged"] if words.status == "converged" else []),
    ]
    return b.ResultView(
        "How far does each word move the model?",
        [*blocks, b.source(" · ".join(how))],
        facts(words),
        lambda: _picture(words),
        script="saved.js",
        data=lambda: words_data(words),
    )


def words_data(words: Words) -> dict[str, Any]:
    """What the browser shows besides the result; ``views``: the text by every complete tier."""
    shown = [tier for tier in words.tiers if tier not in words.partial]
    return {
        "pieces": pieces(words),
        "views": {
            tier: _tier_data(replace(words, tier=tier))
            for tier in TIERS
            if tier == words.tier or tier in shown
        },
        "columns": [
            {
                "title": tier_title(words, tier),
                "numbers": [interval(word.score(tier)) for word in words.words],
            }
            for tier in words.tiers
        ]
        + [
            {"title": title, "numbers": [cell(word) for word in words.words]}
            for title, cell in (("flips", _flips), ("margin", _margin))
            if _labelled(words)
        ],
        "notes": notes(words),
        "facts": facts(words),
        "numbers": [tier_numbers(words, word) for word in words.words],
    }


def _tier_data(words: Words) -> dict[str, Any]:
    """The text with its headline, colours and order by one tier."""
    waiting = Headline((), f"{TIERS[words.tier].title}: not measured yet")
    top = headline(words) if words.tier in words.tiers else waiting
    low, high = scale(words)
    return {
        "title": tier_title(words, words.tier),
        "plain": plain(words) + [(f" {said}.", False) for said in other_firsts(words)],
        "meaning": meaning(words),
        "low": low,
        "high": high,
        "shades": shades(words),
        "ranks": ranks(words),
        "numbers": [interval(word.score(words.tier)) for word in words.words],
        "tips": [tip(words, word) for word in words.words],
        "headline": {"names": [name for name, _ in top.names], "text": top.text},
    }


def _coloured(words: Words) -> b.RunningText:
    heat = shades(words)
    parts: list[b.Inline] = []
    for text, place in pieces(words):
        if place is None or words.words[place].score(words.tier) is None:
            parts.append(text)
        else:
            parts.append(b.Span(text, shade=heat[place], tip=tip(words, words.words[place])))
    return b.RunningText(tuple(parts))


def _table(words: Words) -> b.Table:
    """The words, the largest number first; the other tiers are optional columns."""
    order, rank, top = words.ranked, ranks(words), scale(words)[1]
    own = _scores(words)

    def spelling(place: int) -> str:
        word = words.words[place]
        return f"{word.word} [UNK]" if word.unknown else word.word

    def more(name: str, meaning: str, cell: Callable[[WordSway], str]) -> b.Column:
        return b.Column(
            name, meaning=meaning, optional=True, cell=lambda place: cell(words.words[place])
        )

    label = f"How many of the random words change the classifier's label, {words.label}."
    flips = b.Column("flips", meaning=label, cell=lambda place: _flips(words.words[place]))
    lead = f"Mean change of the margin of {words.label} ({MARGIN}). −: the word supports it."
    margin = b.Column("margin", meaning=lead, cell=lambda place: _margin(words.words[place]))
    labelled = _labelled(words)
    columns = [
        b.Column("rank", cell=lambda place: rank[place]),
        b.Column("#", cell=lambda place: str(words.words[place].index)),
        b.Column("word", "text", cell=spelling),
        *([flips, margin] if labelled else []),
        b.Column(
            tier_title(words, words.tier), cell=lambda place: number((own[place] or (None,))[0])
        ),
        b.Column("", "bar", cell=lambda place: b.Bar(_known(own[place])[0], top)),
        b.Column("±", optional=True, cell=lambda place: spread(_known(own[place])[1])),
    ]
    columns += [
        more(tier_title(words, tier), TIERS[tier].sentence, partial(_number, tier))
        for tier in words.tiers
        if tier != words.tier
    ]
    if "curve" in words.tiers and any(word.upper is not None for word in words.words):
        columns.append(more("at most", _ceiling(words), lambda word: number(word.upper)))
    if words.tier == "real-words":
        ten = "One random word in ten moves it farther than this."
        worst = "The farthest that one of the random words moves it."
        columns += [
            more("90 %", ten, lambda word: number(getattr(word.real, "q90", None))),
            more("worst", worst, lambda word: number(getattr(word.real, "worst", None))),
        ]
    columns.append(more("tokens", "Number of tokens in the word.", lambda word: str(word.pieces)))

    def least(count: int) -> str:
        if words.by_flips:
            return f"flips of none above {_flips(words.words[order[count - 1]])}"
        return f"none above {number(_known(own[order[count - 1]])[0])}"

    return b.table_of(order, columns, shown=SHOWN, rest=least)


def _number(tier: str, word: WordSway) -> str:
    return number((word.score(tier) or (None,))[0])


def _labelled(words: Words) -> bool:
    """Whether random words were tried in a classifier with labels."""
    return any(word.real and word.real.flips is not None for word in words.words)


def _flips(word: WordSway) -> str:
    real = word.real
    return "–" if real is None or real.flips is None else f"{real.flips} of {real.draws}"


def _margin(word: WordSway) -> str:
    """The mean change of the margin by random words, with its sign and standard error."""
    real = word.real
    if real is None or real.margin_change is None or real.margin_error is None:
        return "–"
    sign = "−" if real.margin_change < 0 else "+" if real.margin_change else ""
    return sign + interval((abs(real.margin_change), real.margin_error))


def _layers(words: Words) -> b.Table:
    """One row per word, one column per layer; the target's layer is in bold."""

    def change(layer: int) -> Callable[[WordSway], b.Cell]:
        style: b.Style = "bold" if layer == words.layer else ""
        return lambda word: b.Span(number((word.profile or ())[layer]), style)

    columns = [b.Column("word", "text", cell=lambda word: word.word)]
    columns += [b.Column(str(layer), cell=change(layer)) for layer in range(words.layers + 1)]
    return b.table_of([word for word in words.words if word.profile], columns)


def _picture(words: Words) -> b.Bars:
    """Bars of every tier, the one that orders the words first; then the change of every layer."""
    shown = [words.words[place] for place in sorted(words.ranked[:DRAWN])]
    tiers = [words.tier, *(tier for tier in words.tiers if tier != words.tier)] if shown else []
    layers = None
    if shown and all(word.profile for word in shown):
        values = np.array([word.profile for word in shown], dtype=float)
        layers = b.LayerHeat(f"change by the {moved_by(shown[0].curve)}", values, words.layer)
    total = len(words.words)
    some = "" if len(shown) == total else f" · the {len(shown)} largest of {total} words"
    return b.Bars(
        f"{model_name(words.model)} · {target_name(words)}{some}",
        [f"{word.word} ({word.index})" for word in shown],
        [_bar_column(words, shown, tier) for tier in tiers],
        beside=layers,
        note=meaning(words) if shown else "",
    )


def _bar_column(words: Words, shown: Sequence[WordSway], tier: str) -> b.BarColumn:
    """Bars with twice their standard errors; strokes: the worst real words, or the ceiling."""
    scores = [word.score(tier) for word in shown]
    # Attained by a curve: branches that found less lie below it, nothing above.
    right = 0.0 if tier == "curve" else 2.0
    errors = [(2 * error, right * error) for _, error in map(_known, scores)]
    marks: list[float | None] = []
    if tier == "real-words":
        marks = [None if word.real is None else word.real.worst for word in shown]
    elif tier == "curve":
        marks = [word.upper for word in shown]
    marked = any(mark is not None for mark in marks)
    extra = {"real-words": "\n| the worst of them", "curve": "\n| certified ceiling"}
    label = tier_title(words, tier) + (extra[tier] if marked else "")
    return b.BarColumn(label, [pair and pair[0] for pair in scores], (), errors, marks)


def tier_title(words: Words, tier: str) -> str:
    """The title of a tier, with its unit if that is not the unit of the other tiers."""
    own = words.target == "cosine" and tier in ("real-words", "curve")
    return TIERS[tier].title + (" (1 − cosine)" if own else "")


def _known(pair: tuple[float, float] | None) -> tuple[float, float]:
    return pair or (0.0, 0.0)


def target_name(words: Words) -> str:
    """The name of the target; a layer is given with the number of layers."""
    return named(words.target, words.layers)


def _scores(words: Words) -> list[tuple[float, float] | None]:
    """The numbers that words are coloured by, with their standard errors."""
    return [word.score(words.tier) for word in words.words]


def _ranges(words: Words) -> list[tuple[int, int]]:
    """The first and last rank that each word with a number may have."""
    known = [word for word in words.words if words.rank_score(word) is not None]
    if not known:
        return []
    own = _measured(words, known)
    return rank_ranges(*_flipped(known), own) if words.by_flips else rank_ranges(*own)


def _measured(words: Words, known: Sequence[WordSway]) -> tuple[list[float], Errors]:
    """The numbers of the tier and their errors; of means over draws those of their differences."""
    pairs = [_known(word.score(words.tier)) for word in known]
    values, errors = [value for value, _ in pairs], [error for _, error in pairs]
    if words.tier != "real-words":
        return values, errors
    draws = [(word.real.words, word.real.changes) for word in known if word.real is not None]
    return values, difference_errors(errors, draws)


def _flipped(known: Sequence[WordSway]) -> tuple[list[float], Errors]:
    """The shares of random words that flip the label, and their errors."""
    shares = [_known(word.real.flip_share) for word in known if word.real is not None]
    return [value for value, _ in shares], [error for _, error in shares]


def ranks(words: Words) -> list[str]:
    """For each word the ranks that it may have: "2", or "3–7" where it ties with others."""
    spelled = (str(a) if a == z else f"{a}–{z}" for a, z in _ranges(words))
    return ["–" if pair is None else next(spelled) for pair in map(words.rank_score, words.words)]


def stands_out(words: Words) -> bool:
    """Whether any two words can be distinguished."""
    ranges = _ranges(words)
    return any(one != (1, len(ranges)) for one in ranges)


def scale(words: Words) -> tuple[float, float]:
    """The ends of the colour scale: the smallest and the largest number of the text."""
    values = [pair[0] for pair in _scores(words) if pair is not None]
    return (min(values), max(values)) if values else (0.0, 0.0)


def has_scale(words: Words) -> bool:
    """Whether colours carry information: at least two words can be distinguished."""
    low, high = scale(words)
    return low < high and stands_out(words)


def legend(words: Words, count: int) -> list[str]:
    """Values from one end of the scale to the other, with enough digits to tell them apart."""
    low, high = scale(words)
    values = [low + (high - low) * step / (count - 1) for step in range(count)]
    spelled = ([digits(value, places) for value in values] for places in range(2, 8))
    return next((some for some in spelled if len(set(some)) == count), [number(v) for v in values])


def shades(words: Words) -> list[float]:
    """For each word where it lies on the scale, 0 to 1; all in its middle where none stands out."""
    low, high = scale(words)
    scores = _scores(words)
    if not has_scale(words):
        return [0.5 if pair else 0.0 for pair in scores]
    return [0.0 if pair is None else (pair[0] - low) / (high - low) for pair in scores]


def pieces(words: Words) -> list[tuple[str, int | None]]:
    """The whole text in order: each piece with the place of its word, None between words."""
    found: list[tuple[str, int | None]] = []
    done = 0
    for place in sorted(range(len(words.words)), key=lambda place: words.words[place].start):
        word = words.words[place]
        if word.start < done or word.end <= word.start:
            continue
        found += [(words.text[done : word.start], None), (words.text[word.start : word.end], place)]
        done = word.end
    return [(text, place) for text, place in [*found, (words.text[done:], None)] if text]


def headline(words: Words) -> Headline:
    """What was found by the one tier that the request names; "most" only where it holds."""
    scored = [word for word in words.words if word.score(words.tier) is not None]
    where, by = target_name(words), TIERS[words.tier].title
    if not scored:
        return Headline((), f"{by}: no word was measured at {where}")
    pairs = [_known(word.score(words.tier)) for word in scored]
    first = leaders(*(_flipped(scored) if words.by_flips else _measured(words, scored)))
    names = tuple((scored[at].word, scored[at].index) for at in first[:NAMED])
    if words.by_flips:
        return _flips_headline(words, [scored[at] for at in first], len(scored))
    if len(scored) == 1:
        return Headline(names, f": {by} {interval(pairs[0])} at {where}")
    if len(first) == len(scored):
        return Headline((), f"no word stands out at {where} by {by}: their numbers overlap")
    if len(first) == 1:
        return Headline(names, f"moves {where} most by {by}: {interval(pairs[first[0]])}")
    more = f"(and {len(first) - NAMED} more) " if len(first) > NAMED else ""
    return Headline(names, f"{more}move {where} most by {by} and cannot be told apart")


def other_firsts(words: Words) -> list[str]:
    """One sentence if words of the headline do not come first by another complete tier."""
    first = headline(words).names if words.tier in words.tiers else ()
    others = [replace(words, tier=one) for one in words.tiers if one not in words.partial]
    found = [
        f"by {tier_title(one, one.tier)}: {', '.join(f'“{name}”' for name, _ in names)}"
        for one in others
        if first and (names := headline(one).names) and not {*names} & {*first}
    ]
    return [f"First {'; '.join(found)}"] if found else []


def _flips_headline(words: Words, first: Sequence[WordSway], count: int) -> Headline:
    """The words whose replacements flip the label most often."""
    names = tuple((word.word, word.index) for word in first[:NAMED])
    counts = ", ".join(_flips(word) for word in first[:NAMED])
    change = f"change the label ({words.label})"
    said = f": {counts} random words in its place {change}"
    if count == 1:
        return Headline(names, said)
    if len(first) == count:
        return Headline((), f"no word stands out by the number of random words that {change}")
    if len(first) == 1:
        return Headline(names, f"{said}, more than for any other word")
    more = f" (and {len(first) - NAMED} more)" if len(first) > NAMED else ""
    said = f"{more}: {counts} random words in their places {change}"
    return Headline(names, f"{said}; their flips cannot be told apart")


def plain(words: Words) -> list[tuple[str, bool]]:
    """The word that moves the model most and the one that moves it least, for a reader who has read
    nothing: parts of a sentence, True where one is a word of the text. Empty where a change is not
    relative to the size of what moves.
    """
    scores = _scores(words)
    order = [place for place in words.ranked if scores[place] is not None]
    if not order or not (words.target.startswith("layer") or words.target in ("all", "pooled")):
        return []
    most, least = (words.words[place].word for place in (order[0], order[-1]))
    before, after = TIERS[words.tier].plain
    where = target_name(words)

    largest, smallest = (percent(_known(scores[place])[0]) for place in (order[0], order[-1]))
    after = after.format(target=where, size=largest)
    found = [(before, False), (most, True), (after, False)]
    if len(order) == 1 or not stands_out(words):
        return [*found, (".", False)]
    return [*found, ("; for ", False), (least, True), (f" it is {smallest}.", False)]


def interval(pair: tuple[float, float] | None) -> str:
    """A number with its standard error.

    >>> interval((0.52341, 0.0201)), interval((0.5, 0.0)), interval(None)
    ('0.5234 ± 0.020', '0.5000', '–')
    """
    if pair is None:
        return "–"
    value, error = pair
    return number(value) + (f" ± {digits(error, 2)}" if error else "")


def meaning(words: Words) -> str:
    """What the numbers mean, for a reader who has not read the paper."""
    text = TIERS[words.tier].meaning.format(target=target_name(words), size=sized(words.target))
    if not words.layers:  # a function, without tokens
        text = text.replace("as many tokens", "as many characters")
    text = text[0].upper() + text[1:]
    if words.tier == "real-words":
        text += f" ({_draws(words)} per place)"
        if any(word.pieces > 1 for word in words.words) and words.target.startswith(("layer", "a")):
            text += "; the rows of a word of several tokens count as one"
    elif words.tier == "curve":
        text += f"; reach ρ = {words.reach:g}, where 1 is the length of the word's own embedding"
    own = TIERS[words.tier].error
    others = [TIERS[tier] for tier in words.tiers if TIERS[tier].error != own]
    among = f" ({'; '.join(f'{tier.title}: {tier.error}' for tier in others)})" if others else ""
    errors = f" ± is {own}{among}; ranks such as 2–4 are ties."
    if words.by_flips:
        errors += " Ranks are by flips; equal flips by real words."
    if words.tier == "real-words" and words.label is not None:
        errors += " Colours show no direction, the sign of the margin does."
    return f"{text}.{errors}{ROWS[words.scaling]}"


def _draws(words: Words) -> str:
    """How many words were tried: fewer than requested if no more fit the place."""
    counts = [word.real.draws for word in words.words if word.real is not None]
    least, most = min(counts, default=words.draws), max(counts, default=words.draws)
    return f"{least} to {most} words" if least < most else f"{most} word{'s' * (most > 1)}"


def tier_numbers(words: Words, word: WordSway) -> dict[str, str]:
    """Everything that is known about one word, a line for each tier."""
    lines: dict[str, str] = {}
    real = word.real
    if real is not None:
        lines[tier_title(words, "real-words")] = (
            f"{number(real.mean)} for each of {real.draws} words"
            if real.draws > 1 and len({number(change) for change in real.changes}) == 1
            else f"{interval((real.mean, real.error))} on average over {real.draws} words; "
            f"one in ten at or above {number(real.q90)}; largest of these by “{real.worst_word}”: "
            f"{number(real.worst)}"
        )
        if real.flips is not None:
            lines["label flips"] = f"{real.flips} of {real.draws} random words flip the label" + (
                f", such as “{real.flip}”" if real.flip else ""
            )
            lines["margin"] = f"{_margin(word)} on average (−: the word supports the label)"
    if word.mean_local is not None:
        lines["mean local"] = interval(word.score("mean-local"))
    if word.local is not None:
        loose = "" if word.local_converged else ", not converged"
        unit = "per unit of change, for small changes in the worst direction"
        lines["local"] = f"{number(word.local)} {unit}{loose}"
    if word.sensitivity is not None:
        reach, found = f"reach {words.reach:g}", number(word.sensitivity)
        one = f"not searched (--tier curve searches); a Δ of {reach} in that direction: {found}"
        lines[f"at {reach}"] = f"at least {found} (found)" if word.curve else one
    if word.upper is not None:
        lines["at any reach"] = f"at most {number(word.upper)} (certified)"
    listed = ", ".join(words.tokens[row] for row in word.rows if row < len(words.tokens))
    lines["tokens"] = f"{word.pieces}: {listed}" if listed else str(word.pieces)
    if word.unknown:
        lines["unknown"] = "not in the tokenizer's vocabulary: read as [UNK]"
    return lines


def moved_by(curve: object) -> str:
    """The Δ under which layers are shown: with a curve the searched one, else the worst small
    change made longer.
    """
    return "worst Δ found" if curve else "Δ along the worst small change"


def tip(words: Words, word: WordSway) -> str:
    said = [f"word {word.index}", f"{TIERS[words.tier].title} {interval(word.score(words.tier))}"]
    if word.pieces > 1:
        said.append(f"{word.pieces} tokens")
    return " · ".join([*said, *(["[UNK]"] if word.unknown else [])])


def notes(words: Words) -> list[str]:
    """Notes for the reader of the numbers."""
    found = []
    if words.target == "logits" and words.label is None:
        found.append("the model has no single label: one output, or several labels at once")
    if words.label is not None:
        found.append(f"predicted label: {labelled(words.label, words.probability)}")
        if words.tier == "real-words" and words.tier in words.tiers and not words.by_flips:
            tried = sum(word.real.draws for word in words.words if word.real is not None)
            found.append(f"none of {tried:,} random words ({_draws(words)} per place) flips it")
    real = [word.real for word in words.words if word.real and any(map(str.isalnum, word.word))]
    if same := sum(one.mostly_equal for one in real):
        found.append(
            f"in {same} of {len(real)} places most random words cause exactly the same change: "
            "they are probably not in the model's vocabulary, so these numbers measure removing "
            "the word; use swap --among with words of your data"
        )
    joined = [
        f"“{word.word}” ({word.joined} words)"
        for word in words.words
        if word.joined > 1 and any(char.isalnum() for char in word.word)
    ]
    if joined:
        more = f" and {len(joined) - NAMED} more" if len(joined) > NAMED else ""
        listed = ", ".join(joined[:NAMED])
        found.append(f"words that share a token are measured as one: {listed}{more}")
    unknown = [word.word for word in words.words if word.unknown]
    if unknown:
        found.append(f"not in the tokenizer's vocabulary, read as [UNK]: {', '.join(unknown[:8])}")
    if "real-words" in words.partial:
        some = sum(word.real is not None for word in words.words)
        found.append(f"real words were tried only for the {some} words with the largest mean local")
    if words.cut is not None:
        found.append(f"the text was cut from {words.cut:,} to {len(words.text):,} characters")
    if words.status != "converged":
        found.append(words.status)
    return found


def facts(words: Words) -> dict[str, str]:
    """Where the numbers come from: everything needed to get them again."""
    rows = {"frobenius": "by their norm (‖·‖_F)", "rows": "equal, each relative to itself"}
    small = any(tier != "real-words" for tier in words.tiers)
    draws = [f"{words.passes} backward passes"] if small else []
    draws += [f"{words.draws} real words per place"] if "real-words" in words.tiers else []
    own = {"passes and draws": ", ".join(draws)} if draws else {}
    own |= {"weight of rows": rows[words.scaling]} if words.layers else {}
    tokens = f", in {len(words.tokens)} tokens" if words.layers else ""
    if small:
        own["reach"] = f"ρ = {words.reach:g} of the root mean square length of the word's rows"
        own["Δ is added to"] = words.at
    return provenance(
        words,
        {
            "target": target_name(words),
            "tiers": ", ".join(TIERS[tier].title for tier in words.tiers),
            **own,
            "words": f"{len(words.words)}{tokens}",
            "status": words.status,
        },
    )


def _ceiling(words: Words) -> str:
    where = f"{named(words.target, words.layers)} farther, {sized(words.target)}"
    return f"Certified: no change of the word moves {where}."
