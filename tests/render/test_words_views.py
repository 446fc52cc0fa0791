"""The views of a probed text: the same numbers everywhere, at any width, and no text that does
harm.
"""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from typing import Any

import pandas
import pytest
from rich.console import Console

from experiment_examples import corpus_words
from pages import HARMFUL, HOSTILE, Page, printed
from probed import words_of
from wordsway.core.escape import readable
from wordsway.probing.corpus import aggregates, lead_of
from wordsway.probing.request import WordsRequest
from wordsway.probing.results import Swap, Swaps, Words
from wordsway.probing.tiers import TIERS
from wordsway.render.blocks import Table
from wordsway.render.files import save
from wordsway.render.html import fragment, page
from wordsway.render.numbers import number
from wordsway.render.plot import figure
from wordsway.render.terminal import HEAT, MARKS, level, panel
from wordsway.render.views import view_of
from wordsway.render.views import words as wording
from wordsway.render.views.swaps import in_place
from wordsway.render.views.words import (
    DRAWN,
    has_scale,
    headline,
    legend,
    pieces,
    ranks,
    scale,
    shades,
)

SHORT = "The film was not bad, but the end of the film was."
LONG = " ".join(["one two three four five six"] * 50)
TEXTS = {
    "short": SHORT,
    "hostile": HOSTILE,
    "long": LONG,
    "empty": "",
    "one": "x" * 300,
    "hebrew": "שלום עולם, שלום",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("width", "colours"), [(40, False), (40, True), (133, False)])
def test_terminal_keeps_within_its_width_and_passes_nothing_on(name, width, colours):
    words = words_of(
        TEXTS[name], layers=32 if name == "long" else 6, twin=name == "short", swaps=True
    )
    for shown_as in (panel(words), *(panel(one) for one in words.swaps)):
        shown = re.sub("\x1b\\[[0-9;]*m", "", printed(shown_as, width, colours=colours))
        assert not HARMFUL.search(shown)
        console = Console(width=1000)
        assert all(
            console.measure(line).maximum <= width for line in shown.replace("[", "(").splitlines()
        )


def test_styles_of_the_terminal_are_ours_alone():
    """Every escape sequence in the output is one that the same words without brackets or escapes
    would give.
    """
    assert "31m" in printed(panel(words_of(HOSTILE)), 80)  # the text's letters, harmless
    codes = set(
        re.findall("\x1b\\[([0-9;]*)m", printed(panel(words_of(HOSTILE)), 80, colours=True))
    )
    assert "31" not in codes
    assert "a [bold] word" in re.sub("[¹²³⁴⁵]", "", printed(panel(words_of("a [bold] word")), 80))


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("tier", TIERS)
def test_the_table_says_the_results_numbers_largest_first(width, tier):
    words = words_of(SHORT, tier=tier)
    rows = [
        line.split()
        for line in printed(panel(words), width).splitlines()
        if re.match(r" *[\d–]+ +\d+ +\S+ ", line)
    ]
    assert len(rows) == len(words.words)
    labels = ranks(words)
    for row, place in zip(rows, words.ranked, strict=True):
        word = words.words[place]
        value = word.score(tier)[0]
        assert row[:2] == [labels[place], str(word.index)], "repeated words stay distinct"
        assert number(value) in row
    values = [words.words[place].score(tier)[0] for place in words.ranked]
    assert values == sorted(values, reverse=True)


def test_a_long_text_is_shown_whole_and_its_table_counts_the_rest():
    words = words_of(LONG, full=False)
    shown = printed(panel(words), 80)
    plain = re.sub("[¹²³⁴⁵]", "", shown)
    assert " ".join(plain.split()).count("one two three four five six") == 50
    assert "and 285 more" in shown
    tail = " ".join(shown.split())
    for said in ("tiny/<b>model</b>", "layer 4 of 6", "12.5 s", "321 MB", "converged", "seed 11"):
        assert said in tail


def test_what_a_number_means_is_said_in_every_view():
    """The tier's name, the sentence that explains it, and "most" only where it holds."""
    for tier, meaning in (("real-words", "a random real word"), ("mean-local", "small random")):
        words = words_of(SHORT, tier=tier)
        views = [printed(panel(words), 100), page(words), fragment(words)]
        for view in views:
            flat = " ".join(re.sub("<[^>]+>", "", view).split())
            assert meaning in flat and TIERS[tier].title in flat and "layer 4 of 6 most" in flat
            assert "vocabulary, read as [UNK]: not" in flat and "[UNK]" in flat
    tied = [replace(word, mean_local_error=1.0) for word in words.words]
    level_ground = replace(words, words=tuple(tied))
    for view in (printed(panel(level_ground), 100), page(level_ground)):
        flat = " ".join(re.sub("<[^>]+>", "", view).split())
        assert "no word stands out" in flat and "most" not in flat.split("rank")[0]
    assert set(shades(level_ground)) == {0.5}, "noise gets no colours"
    best = max(words.words, key=lambda word: word.mean_local)
    close = replace(best, index=99, mean_local=0.999 * best.mean_local)
    pair = replace(words, words=(*words.words, close))
    assert "cannot be told apart" in headline(pair).text and len(headline(pair).names) == 2


def test_large_numbers_are_spelled_out():
    """99.6 % is "100 %", not "1e+02 %"; so are legends, errors and shares of the worst Δ."""
    words = words_of(SHORT, tier="mean-local", swaps=True)
    for factor in (0.996, 12.3, 250.0, 4e4):
        scale = factor / max(word.mean_local for word in words.words)
        large = replace(
            words,
            words=tuple(
                replace(
                    word, mean_local=scale * word.mean_local, mean_local_error=scale * factor / 9
                )
                for word in words.words
            ),
            swaps=tuple(replace(swaps, worst=swaps.worst / 400) for swaps in words.swaps),
        )
        shown = "".join(text for text, _ in wording.plain(large))
        views = [printed(panel(large), 120), fragment(large), shown]
        views += wording.legend(large, 5)
        for view in views:
            assert not re.search(r"[0-9]e\+[0-9]+ ?%|e\+0[12]", view), view
    assert "by 100 % of the word's own change" in "".join(
        text
        for text, _ in wording.plain(
            replace(words, words=tuple(replace(word, mean_local=0.996) for word in words.words))
        )
    )


@pytest.mark.parametrize("target", ["layer 4", "cosine", "logits", "next-token"])
def test_every_column_has_a_sentence(target):
    """For a reader who has not read the paper: what it is, and in which unit."""
    words = replace(words_of(SHORT, swaps=True), target=target, label="POSITIVE")
    swaps = replace(words.swaps[0], target=target, label="POSITIVE")
    units = {"cosine": "1 − cosine (0: the same direction", "next-token": "(0: the same, 1.41:"}
    (table,) = (block for block in view_of(swaps).blocks if isinstance(block, Table))
    assert {"change", "label", "margin", "tokens", "worst Δ"} <= set(table.meanings)
    (own,) = (block for block in view_of(words).blocks if isinstance(block, Table) and block.rest)
    for result, sentences in ((words, own.meanings.values()), (swaps, table.meanings.values())):
        for view in (printed(panel(result), 160), page(result)):
            flat = " ".join(html.unescape(re.sub("<[^>]+>", " ", view)).split())
            assert not [sentence for sentence in sentences if sentence not in flat]
            assert units.get(target, "relative to its size") in flat
    curve = printed(panel(words_of(SHORT, tier="curve")), 120)
    assert "at most" in curve and "Certified: no change of the word" in " ".join(curve.split())
    assert "± is one standard error" not in " ".join(curve.split()), "a spread is none"


def test_words_of_a_corpus_name_their_target_and_leave_out_what_was_not_measured():
    known = corpus_words("a film")
    frame = known.words.assign(real_mean=0.3579, real_error=0.01)
    for name in ("change_0", "change_1", "noise_0", "noise_1"):
        frame[name] = float("nan")
    jobs = tuple(replace(job, request=WordsRequest(layer=1, target="cosine")) for job in known.jobs)
    asked = replace(known, jobs=jobs, words=frame, aggregates=aggregates(frame))
    for view in (printed(asked, 100), fragment(asked)):
        flat = " ".join(html.unescape(re.sub("<[^>]+>", " ", view)).split())
        assert "the text's normalised embedding" in flat and "1 − cosine" in flat
        assert "0.3579" in flat and "nan" not in flat.lower() and "times noise" not in flat
    assert "times noise" in printed(known, 100) and "by layer" in printed(known, 100)


def test_words_of_a_corpus_are_ordered_by_real_words_where_they_alone_were_asked_for():
    known = corpus_words("a film")
    count = len(known.words)
    frame = known.words.assign(
        mean_local=[0.1 + 0.01 * at for at in range(count)],
        real_mean=[0.9 - 0.02 * at for at in range(count)],
        real_error=0.01,
    )
    frame.loc[frame["word"] == frame["word"].iloc[-1], "real_mean"] = float("nan")
    orders = {}
    for tiers in (("real-words",), ("mean-local", "real-words"), ()):
        jobs = tuple(
            replace(job, request=WordsRequest(layer=1, tiers=tiers or None)) for job in known.jobs
        )
        found = aggregates(frame, lead_of(jobs, frame))
        asked = replace(known, jobs=jobs, words=frame, aggregates=found)
        orders[tiers] = list(found["by_word"][asked.lead])
        for view in (printed(asked, 100), fragment(asked)):
            name = "real words" if tiers == ("real-words",) else "mean local"
            assert f"words by their {name}, the largest first" in view and "nan" not in view.lower()
    by_real, *others = orders.values()
    assert by_real[:-1] == sorted(by_real[:-1], reverse=True) and math.isnan(by_real[-1])
    assert all(order == sorted(order, reverse=True) for order in others)


def test_a_scale_is_shown_where_colours_say_something():
    """Not for one word, nor where none stands out; its values differ as they are spelled."""
    words = words_of(SHORT)
    alone = replace(words, words=words.words[:1])
    real = [
        replace(word.real, mean=0.9 + 0.001 * at, words=()) for at, word in enumerate(words.words)
    ]
    pairs = list(zip(words.words, real, strict=True))
    apart, same = (
        replace(
            words,
            words=tuple(replace(word, real=replace(one, error=error)) for word, one in pairs),
        )
        for error in (1e-5, 1.0)
    )
    assert [has_scale(one) for one in (alone, same, apart)] == [False, False, True]
    assert len(set(legend(apart, 6))) == 6 and legend(words, 2)[1] == f"{scale(words)[1]:.2g}"
    ramp = "linear-gradient"
    for one, wanted in ((alone, False), (same, False), (apart, True)):
        shown = printed(panel(one), 80)
        assert (re.search("^real words ", shown, re.MULTILINE) is not None) == wanted
        assert (ramp in fragment(one)) == wanted


def test_the_scale_spans_the_values():
    words = words_of(SHORT)
    values = [word.real.mean for word in words.words]
    assert scale(words) == (min(values), max(values))
    assert min(shades(words)) == 0.0 and max(shades(words)) == 1.0


def test_a_classifier_says_its_labels():
    words = words_of(SHORT)
    real = replace(words.words[0].real, flips=3, flip="dull")
    flipping = replace(words.words[0], real=real)
    labelled = replace(
        words, words=(flipping, *words.words[1:]), label="POSITIVE", probability=0.91
    )
    assert "predicted label: POSITIVE, probability 0.910" in printed(panel(labelled), 100)
    flips = wording.tier_numbers(labelled, flipping)["label flips"]
    assert flips == "3 of 8 random words flip the label, such as “dull”"
    table = printed(panel(labelled), 100)
    assert "flips" in table and "3 of 8" in table, "for each word whether a real word flips it"
    swaps = replace(
        words_of(SHORT, swaps=True).swaps[0],
        label="POSITIVE",
        probability=0.91,
        flips=7,
        swaps=(Swap("dull", 0.4, 7, "NEGATIVE", 0.123, -0.77),),
    )
    for width in (40, 100):
        shown = " ".join(printed(panel(swaps), width).split())
        assert "NEGATIVE" in shown and "0.123" in shown and "-0.77" in shown
        assert "Predicted label: POSITIVE, probability 0.910" in shown
        assert "7 of which flip the label" in shown
    assert "p(POSITIVE)" in printed(panel(swaps), 80) and "reaches" not in shown
    none = " ".join(printed(panel(replace(swaps, swaps=(), only_flips=True)), 80).split())
    assert "none of the 64 words tried flips the label" in none
    document = page(swaps)
    assert "NEGATIVE" in document and "0.123" in document
    assert "7 of which flip the label" in document


def test_colours_are_ordered_and_have_a_mark_each_without_colour():
    values = [0.0, 0.09, 0.2, 0.41, 0.6, 0.8, 1.0]
    assert [level(value) for value in values] == [0, 0, 1, 2, 3, 4, 5]
    codes = [style.split("#")[2] for style in HEAT[2:]]
    pure = [
        max(parts) - min(parts)
        for parts in ([int(code[at : at + 2], 16) for at in (0, 2, 4)] for code in codes)
    ]
    assert pure == sorted(pure) and pure[0] < pure[-1] / 4, "from grey to orange"
    words = words_of(SHORT)
    shade = shades(words)
    shown = re.sub(r"\s+", " ", printed(panel(words), 80))
    marked = "".join(
        text + (MARKS[level(shade[place])] if place is not None else "")
        for text, place in pieces(words)
    )
    assert marked in shown
    assert f"{MARKS[5]} {scale(words)[1]:.2g}" in shown, "the legend ends at the largest value"
    quiet = printed(panel(words), 80, colours=True, no_color=True)
    assert marked in re.sub(r"\s+", " ", re.sub("\x1b\\[[0-9;]*m", "", quiet)), (
        "NO_COLOR at a terminal"
    )
    assert marked not in re.sub("\x1b\\[[0-9;]*m", "", printed(panel(words), 80, colours=True))


def test_contrast_of_every_colour_of_the_terminal():
    def light(code: str) -> float:
        parts = [int(code[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for style in HEAT[2:]:
        low, high = sorted(light(code) for code in re.findall("#([0-9a-f]{6})", style))
        assert (high + 0.05) / (low + 0.05) >= 4.5, style


def test_swaps_say_what_the_best_word_reaches():
    swaps = words_of(SHORT, swaps=True).swaps[0]
    shown = " ".join(printed(panel(swaps), 80).split())
    assert "»The« film was not bad" in shown
    for swap in swaps.swaps:
        assert f"{readable(swap.word)}" in shown and number(swap.change) in shown
    assert f"{100 * 0.5123 / 0.8111:.3g} %" in shown and "0.8111" in shown
    assert "30,522 candidates, 64 evaluated exactly" in shown


def test_a_swapped_word_is_found_by_its_index():
    swaps = words_of("no, no, no", swaps=True).swaps[0]
    second = Swaps(**{**vars(swaps), "index": 2})
    assert in_place(second) == ("no, ", "no", ", no")
    assert in_place(Swaps(**{**vars(swaps), "index": 99})) == ("", "no", "")


@pytest.mark.parametrize("name", TEXTS)
def test_pieces_spell_the_text(name):
    words = words_of(TEXTS[name])
    assert "".join(text for text, _ in pieces(words)) == TEXTS[name]
    assert [words.words[place].word for _, place in pieces(words) if place is not None] == [
        word.word for word in words.words
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_the_page_stands_alone(name):
    document = page(words_of(TEXTS[name], twin=True, swaps=True))
    read = Page(document)
    assert read.open == [] and not HARMFUL.search(document)
    assert readable(TEXTS[name]).strip() in "".join(read.read), "all of the text, in its order"
    ids = read.attributes("id")
    assert len(ids) == len(set(ids))
    assert all(href.startswith("#") and href[1:] in ids for href in read.attributes("href"))
    assert not read.attributes("src") and "@import" not in document and "url(" not in document
    assert not re.search(r"https?:", document.replace("http://www.w3.org/2000/svg", ""))
    policy = next(
        attrs["content"] for tag, attrs in read.tags if tag == "meta" and "http-equiv" in attrs
    )
    assert "default-src 'none'" in (policy or "") and "'unsafe-eval'" not in (policy or "")


def test_the_embedded_data_is_the_result():
    words = words_of(HOSTILE, twin=True, swaps=True)
    found = re.findall(
        r'<script type="application/json" id="result">(.*?)</script>',
        page(words),
        flags=re.DOTALL,
    )
    assert len(found) == 1 and found[0].isascii() and not re.search("[<>&]", found[0])
    assert json.loads(found[0]) == json.loads(words.to_json())


def test_a_long_text_makes_a_page_of_moderate_size():
    """512 words of mean local alone: less than a megabyte, and no chart is drawn for nothing."""
    text = " ".join(f"word{number}" for number in range(512))
    document = page(words_of(text, full=False))
    assert len(document) < 1_000_000 and document.count("<svg") == 0
    assert document.count("· mean local") >= 512


def test_swaps_of_a_word_that_was_not_searched_are_listed_too():
    words = words_of(SHORT, swaps=True)
    fewer = Words(**{**vars(words), "words": words.words[1:]})
    assert "Real words for" in page(fewer)


@pytest.mark.parametrize("name", TEXTS)
def test_figures_show_the_numbers_of_the_words(name):
    words = words_of(TEXTS[name], twin=True)
    drawn: Any = figure(words)
    if not words.words:
        return
    shown = [words.words[place] for place in sorted(words.ranked[:DRAWN])]
    order = [words.tier, *(tier for tier in words.tiers if tier != words.tier)]
    for axes, tier in zip(drawn.axes, order, strict=False):
        assert [patch.get_width() for patch in axes.patches] == [w.score(tier)[0] for w in shown]
        assert [text.get_text().strip() for text in axes.texts] == [
            number(word.score(tier)[0]) for word in shown
        ]
        assert TIERS[tier].title in axes.get_xlabel()
    heat = drawn.axes[len(order)]
    assert [float(value) for value in heat.collections[0].get_array().ravel()] == [
        value for word in shown for value in word.profile
    ]
    assert heat.patches[0].get_x() + 0.5 == words.layer
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert len(set(labels)) == len(labels) == len(shown)
    assert not any(HARMFUL.search(label) for label in labels)


def test_tables_come_back_as_they_were(tmp_path):
    words = words_of(HOSTILE.replace("\ud800", ""))
    frame = words.frame()
    pandas.testing.assert_frame_equal(
        pandas.read_parquet(save(words, tmp_path / "a.parquet")), frame, check_dtype=False
    )
    csv = pandas.read_csv(save(words, tmp_path / "a.csv"), keep_default_na=False)
    assert list(csv.columns) == list(frame.columns) and len(csv) == len(frame)
    assert csv["real_mean"].tolist() == pytest.approx(frame["real_mean"].tolist())
    assert csv["word"].tolist() == frame["word"].tolist()
    assert json.loads(
        save(words_of(HOSTILE), tmp_path / "a.json").read_text("utf-8")
    ) == json.loads(words_of(HOSTILE).to_json())


def test_svg_is_text_and_harmless(tmp_path):
    from xml.etree import ElementTree

    words = words_of("plain $x$ 你好 <script> \x00 שלום")
    svg = save(words, tmp_path / "a.svg").read_text("utf-8")
    said = [
        element.text or ""
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert "$ (1)" in said and any("你" in text for text in said), (
        "letters stay letters: the reader brings the font"
    )
    assert "<script" not in svg


@pytest.mark.parametrize("width", [80, 100])
def test_columns_beside_small_numbers_are_whole(width):
    """A change of 0.0006325 is wider than its head, and the last column was cut by as much."""
    (swaps,) = words_of(SHORT, swaps=True).swaps[:1]
    few = tuple(
        replace(one, change=one.change / 1e3, label="NEGATIVE", probability=0.25, margin=-0.001234)
        for one in swaps.swaps
    )
    shown = printed(panel(replace(swaps, swaps=few, label="POSITIVE", worst=None)), width)
    head = next(line for line in shown.splitlines() if line.startswith("word "))
    assert head.rstrip().endswith(" tokens") and "margin" in head


def test_a_small_direction_is_not_called_the_worst_change():
    """Without a curve layers are looked at under the worst small change, made longer: real words go
    farther, and a line named "worst Δ" below their mean is no help.
    """
    searched, quick = words_of(SHORT, tier="curve"), words_of(SHORT)
    quick = replace(quick, words=tuple(replace(word, curve=None) for word in quick.words))
    assert "worst small change" in fragment(quick) and "worst Δ" not in fragment(quick)
    assert "worst Δ found" in fragment(searched)
    said = [wording.tier_numbers(one, one.words[0])["at reach 1"] for one in (quick, searched)]
    assert said[0].startswith(
        "not searched (--tier curve searches); a Δ of reach 1 in that direction"
    )
    assert said[1].startswith("at least") and said[1].endswith("(found)")


@pytest.mark.parametrize("width", [66, 80])
def test_bars_get_shorter_before_a_number_is_left_out(width):
    words = words_of(SHORT, tier="mean-local")
    few = replace(words, tiers=("mean-local", "local", "real-words"))
    shown = printed(panel(few), width)
    assert "real words" in shown.partition("\nrank")[2].partition("\n")[0] and "█" in shown


def test_the_unit_of_a_cosine_distance_is_in_the_title():
    """Mean local and local of the same table are relative to the normalised vector."""
    cosine = replace(words_of(SHORT, tier="mean-local"), target="cosine")
    titles = [column["title"] for column in wording.words_data(cosine)["columns"]]
    assert titles[:3] == ["mean local", "local", "real words (1 − cosine)"]
    assert "real words (1 − cosine)" in printed(panel(cosine), 133)
    assert "cosine" not in printed(panel(replace(cosine, target="layer 4")), 133)


def test_another_first_word_of_another_tier_is_named():
    words = words_of(SHORT, tier="mean-local")
    assert wording.other_firsts(words) == []
    last = words.words[words.ranked[-1]]
    real = replace(last.real, mean=9.0)
    changed = tuple(replace(one, real=real) if one is last else one for one in words.words)
    other = replace(words, words=changed)
    (said,) = wording.other_firsts(other)
    assert said == f"First by real words: “{last.word}”" and said in printed(panel(other), 80)
    drawn = wording.words_data(other)["views"]
    assert said in drawn["mean-local"]["plain"][-1][0]
    assert "First by mean local" in drawn["real-words"]["plain"][-1][0]


def test_means_over_the_same_random_words_are_compared_in_pairs():
    """Their errors overlap and each draw agrees; other words draw by draw would not be paired."""
    words = words_of(SHORT)
    real = words.words[0].real
    changes = tuple(change + 0.01 * real.error * at for at, change in enumerate(real.changes))
    less = replace(real, mean=real.mean - 0.5 * real.error)
    more = replace(real, changes=changes, words=tuple(map(str.title, real.words)))
    same = replace(words, words=tuple(map(_with, words.words[:2], (less, more))))
    assert ranks(same) == ["2", "1"] and headline(same).names == ((words.words[1].word, 1),)
    other = replace(more, words=more.words[::-1])
    apart = replace(words, words=tuple(map(_with, words.words[:2], (less, other))))
    assert ranks(apart) == ["1–2", "1–2"] and "no word stands out" in headline(apart).text


def test_the_numbers_of_a_word_are_of_the_random_words_that_were_drawn():
    words = words_of(SHORT)
    real = words.words[0].real
    said = wording.tier_numbers(words, words.words[0])["real words"]
    assert "one in ten at or above" in said and f"largest of these by “{real.worst_word}”" in said
    equal = _with(words.words[0], replace(real, mean=0.1923, changes=(0.1923, 0.19230000001) * 4))
    assert wording.tier_numbers(words, equal)["real words"] == "0.1923 for each of 8 words"
    assert "per unit of change" in wording.tier_numbers(words, equal)["local"]


def test_details_are_those_of_the_tiers_that_ran():
    """A function has neither gradients nor layers nor tokens."""
    words = words_of(SHORT)
    gradients = {"reach", "Δ is added to", "weight of rows"}
    assert gradients <= {*wording.facts(words)} and "tokens" in wording.meaning(words)
    box = replace(words, tiers=("real-words",), target="pooled", layers=0, layer=0)
    found = wording.facts(box)
    assert not gradients & {*found} and found["passes and draws"] == "8 real words per place"
    assert "tokens" not in found["words"]
    assert "as many characters replaces" in wording.meaning(box)
    assert (
        "real words" not in wording.facts(replace(words, tiers=("mean-local",)))["passes and draws"]
    )
    document = page(words)
    assert "<h1>How far does each word move the model?</h1>" in document
    assert "Largest changes found (of $" in document and "Random words in its" not in document


def _with(word, real):
    return replace(word, real=real)


def test_a_mean_says_over_how_many_words_it_is():
    """Fewer than were asked for where no more can stand there: signs, small vocabularies."""
    words = words_of(SHORT, tier="real-words")
    first, *rest = words.words
    assert f"({first.real.draws} words per place)" in wording.meaning(words)
    fewer = replace(first, real=replace(first.real, draws=7))
    assert f"(7 to {first.real.draws} words per place)" in wording.meaning(
        replace(words, words=(fewer, *rest))
    )
    one = replace(first, real=replace(first.real, draws=1))
    assert "(1 word per place)" in wording.meaning(replace(words, words=(one,)))
