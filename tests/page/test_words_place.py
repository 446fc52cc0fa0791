"""The place *Words* in Chromium: colours, tiers, clicks, a second text, errors, downloads."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from pages import HOSTILE

TEXT = "the film was good and the plot was dull"


def opened(tab, small_model, text: str = TEXT, **more: str):
    query = "&".join(
        f"{name}={quote(value)}"
        for name, value in {"text": text, "model": str(small_model), **more}.items()
    )
    tab.goto(f"/words?{query}")
    tab.wait_for_selector("html[data-ready=words]")
    tab.wait_for_selector(".result[data-state=done]")
    return tab


@pytest.fixture(scope="module")
def numbers(small_model):
    """What the command line says of the same text."""
    from wordsway.probing.words import words

    return words(TEXT, str(small_model))


@pytest.mark.slow
def test_colours_numbers_and_headline_are_those_of_the_verb(tab, small_model, numbers):
    opened(tab, small_model)
    found = tab.locator(".w")
    assert found.all_inner_texts() == TEXT.split()
    from wordsway.render.numbers import percent
    from wordsway.render.views.words import interval, ranks, shades, stands_out, target_name

    for at, (word, share, rank) in enumerate(
        zip(numbers.words, shades(numbers), ranks(numbers), strict=True)
    ):
        label = found.nth(at).get_attribute("aria-label")
        shown = interval(word.score(numbers.tier))
        assert label == f"{word.word}, mean local {shown}, rank {rank}"
        assert found.nth(at).evaluate("e => e.style.getPropertyValue('--share')") == f"{share:.3f}"
    assert target_name(numbers) in tab.locator(".headline").inner_text()
    most = max(word.mean_local for word in numbers.words)
    least = min(word.mean_local for word in numbers.words)
    said = tab.locator(".plainly").nth(1).inner_text()
    assert f"by {percent(most)} of the word's own change" in said
    assert said.endswith(f"it is {percent(least)}.") or not stands_out(numbers)


@pytest.mark.slow
def test_tiers_stream_in_with_the_quickest_first(tab, small_model):
    """The first colours are mean local; each tier adds a button, and colours stay in place.

    A tiny model's tiers can arrive together where the browser has to wait for a core: one of five
    texts must show them one by one.
    """
    seen = []
    tab.expose_function("seen", lambda chips: seen.append(chips))
    tab.add_init_script(
        """addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
          const all = [...document.querySelectorAll(".chip")];
          const chips = all.map((one) => one.dataset.tier).join();
          if (chips && chips !== window.last) { window.last = chips; seen(chips); }
        }).observe(document.body, { childList: true, subtree: true }));"""
    )
    for subject in ("they", "it", "he", "she", "we"):
        seen.clear()
        opened(tab, small_model, f"{subject} was not good")
        if seen[0] == "mean-local":
            break
    assert seen[0] == "mean-local"
    assert seen[-1] == "mean-local,local,real-words"
    tab.click(".chip[data-tier=local]")
    assert tab.locator(".chip[data-tier=local]").get_attribute("aria-checked") == "true"
    assert ", local " in tab.locator(".w").first.get_attribute("aria-label")
    assert "colour=local" in tab.url
    tab.reload()
    tab.wait_for_selector(".chip[data-tier=local][aria-checked=true]")


@pytest.mark.slow
def test_the_headline_does_not_change_as_tiers_arrive(client, small_model):
    """The tier of the request from the first event to the last, as on the command line."""
    asked = {"text": TEXT, "model": str(small_model)}
    cases = ((None, "mean-local"), ("real-words", "real-words"), ("curve", "curve"))
    for seed, (colour, tier) in enumerate(cases, 5):  # other seeds: nothing is answered from memory
        more = {"seed": seed} | ({} if colour is None else {"colour": colour})
        events = [e for e in client.ask("/api/words", **asked, **more).events if "result" in e]
        assert len(events) > 2 and {event["result"]["tier"] for event in events} == {tier}
        said = {event["views"][tier]["headline"]["text"] for event in events}
        waiting = {one for one in said if "not measured yet" in one}
        assert len(said - waiting) == 1 and bool(waiting) == (tier != "mean-local")


@pytest.mark.slow
def test_the_page_and_its_exports_use_the_same_tier(tab, client, small_model, tmp_path):
    """A colour that is chosen on the page reaches the command, the Python lines and the JSON."""
    from wordsway.cli.app import run

    opened(tab, small_model)
    tab.click(".chip[data-tier=real-words]")
    assert "by real words" in tab.locator(".headline").inner_text()
    command = shlex.split(tab.locator(".code code").nth(0).text_content())
    assert command[-3:] == ["--colour", "real-words", "--json"]
    assert "colour='real-words'" in tab.locator(".code code").nth(1).text_content()
    with tab.expect_download() as got:
        tab.click("[data-file=json]")
    got.value.save_as(tmp_path / "words.json")
    shown = json.loads((tmp_path / "words.json").read_text())
    assert run([*command[1:-1], "--out", str(tmp_path / "told.json")]) == 0
    told = json.loads((tmp_path / "told.json").read_text())
    for name in ("tier", "tiers", "partial"):
        assert shown[name] == told[name], name
    tab.click(".chip[data-tier=mean-local]")
    assert "--colour" not in tab.locator(".code code").nth(0).text_content()


@pytest.mark.slow
def test_a_chosen_word_is_the_one_that_is_shown(tab, client, small_model):
    """Behind words that share a token, a word's place in the list is not its number."""
    opened(tab, small_model, "the ฉันรักเธอ film was good")
    tab.click(".w >> text=good")
    tab.wait_for_selector(".swaps li")
    assert "“good”" in tab.locator(".chosen h2").inner_text()
    assert tab.locator(".swap").first.get_attribute("data-swap") != "good"
    tab.locator(".swap").first.click()
    tab.wait_for_selector(".w.differs")
    assert tab.locator(".w.differs").first.inner_text() == "good"


@pytest.mark.slow
def test_hovering_and_walking_tell_numbers(tab, small_model):
    opened(tab, small_model)
    tab.hover(".w[data-index='3']")
    assert tab.locator("#tip").inner_text().startswith("word 3 · mean local ")
    tab.focus(".w[data-index='0']")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.dataset.index") == "2"
    assert tab.locator("#tip").inner_text().startswith("word 2 · ")
    tab.keyboard.press("End")
    assert tab.evaluate("document.activeElement.textContent") == "dull"
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".chosen h2 >> text=dull")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_the_tooltip_covers_no_button(tab, small_model, width):
    tab.set_viewport_size({"width": width, "height": 900})
    opened(tab, small_model)
    tab.locator(".colours").evaluate("one => one.scrollIntoView({ block: 'center' })")
    tab.wait_for_timeout(200)  # a tooltip is hidden by scrolling
    boxes = "all => all.map((one) => one.getBoundingClientRect().toJSON())"
    buttons = "nav a, button, input, select, textarea"
    for one in (*tab.locator(".w").all(), *tab.locator(".chip").all()):
        one.focus()
        (tip,) = tab.locator("#tip").evaluate_all(boxes)
        assert tip["height"] > 0
        own = one.bounding_box()
        assert not own["y"] < (tip["top"] + tip["bottom"]) / 2 < own["y"] + own["height"]
        for box in tab.locator(buttons).evaluate_all(boxes):
            apart = tip["bottom"] <= box["top"] or tip["top"] >= box["bottom"]
            assert apart or tip["right"] <= box["left"] or tip["left"] >= box["right"]


@pytest.mark.slow
def test_a_click_tells_everything_about_a_word(tab, small_model):
    """Curve with ceiling, profile beside noise, real words; one of them beside."""
    from wordsway.auditing.pairs import pairs
    from wordsway.probing.swap import swap
    from wordsway.probing.words import words
    from wordsway.render.numbers import whole_percent

    opened(tab, small_model)
    tab.click(".w[data-index='3']")
    tab.wait_for_selector(".swaps li")
    one = words(TEXT, str(small_model), tiers=["curve"], word=[3]).words[0]
    said = tab.locator(".chosen").inner_text()
    assert "“good”, word 3" in said
    last = one.curve[-1]
    assert f"At reach 1 at least {last.lower:#.4g}" in said
    assert f"at least {last.lower:#.4g} (found)" in said, "not that of the worst small change"
    assert f"at any reach at most {one.upper:#.4g} (certified)" in said
    lines = tab.locator(".code code").first.text_content().splitlines()
    assert lines[-1].endswith("--tier curve --word 3 --json") and len(lines) == 2
    scope: dict[str, Any] = {}
    exec(tab.locator(".code code").nth(1).text_content().replace("words.show()", ""), scope)
    assert scope["words"].words[0].sensitivity == pytest.approx(last.lower, rel=1e-5)
    assert tab.locator(".chosen .ceiling").count() == 2, "the line and its key"
    assert tab.locator(".chosen circle.worst").count() == len(one.curve) + len(one.profile)
    assert tab.locator(".chosen circle.noise").count() == len(one.noise)
    best = swap(TEXT, 3, str(small_model), top=12, worst_case=False)
    named = tab.locator(".swap").evaluate_all("all => all.map((one) => one.dataset.swap)")
    assert named == [found.word for found in best.swaps]
    assert f"{best.swaps[0].change:#.4g}" in tab.locator(".swap").first.inner_text()
    assert "word=3" in tab.url
    tab.locator(".swap").first.click()
    tab.wait_for_selector(".flow >> nth=1")
    tab.wait_for_selector(".w.differs")
    marked = tab.locator(".w.differs").all_inner_texts()
    assert marked == ["good", best.swaps[0].word]
    other = TEXT.replace("good", best.swaps[0].word)
    (pair,) = pairs(TEXT, other, str(small_model))
    tab.wait_for_selector(".result[data-state=done]")
    assert f": {pair.models[0].cosine:.3f}." in tab.locator(".plainly").first.inner_text()
    (told,) = pair.models
    shown = whole_percent(told.percentile, told.percentile_low, told.percentile_high)
    assert f" {shown} of random words" in tab.locator(".plainly").first.inner_text()
    assert parse_qs(urlsplit(tab.url).query)["other"] == [other]
    tab.reload()
    tab.wait_for_selector(".w.differs")


@pytest.mark.slow
def test_an_arrow_key_reads_a_chart(tab, small_model):
    opened(tab, small_model)
    tab.click(".w[data-index='0']")
    tab.wait_for_selector(".swaps li")
    labels = tab.locator(".chosen svg.chart").first.locator("text").all_text_contents()
    assert "0.03" in labels and "1" in labels, "both ends of the axis"
    tab.locator(".chosen svg.chart").first.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".chosen .readout").first.inner_text().startswith("0.03: found ")


@pytest.mark.slow
def test_everything_can_be_taken_away(tab, small_model, numbers, tmp_path):
    opened(tab, small_model)
    texts = {}
    for ending in ("json", "csv", "svg"):
        with tab.expect_download() as got:
            tab.click(f"[data-file={ending}]")
        path = tmp_path / got.value.suggested_filename
        got.value.save_as(path)
        texts[ending] = path.read_text()
        assert path.name == f"words.{ending}"
    found = json.loads(texts["json"])
    assert [word["real"]["mean"] for word in found["words"]] == [
        word.real.mean for word in numbers.words
    ]
    assert texts["csv"].splitlines()[0].startswith("index,word,start,end,pieces")
    assert "<svg" in texts["svg"]
    tab.click("[data-link]")
    tab.wait_for_selector("[data-link] >> text=Copied")
    assert tab.evaluate("navigator.clipboard.readText()") == tab.url
    command = tab.locator(".code code").nth(0).text_content()
    assert shlex.split(command) == [
        *("wordsway", "words", TEXT, "--model", str(small_model), "--json"),
    ]
    python = tab.locator(".code code").nth(1).text_content()
    assert len(python.splitlines()) == 5
    scope: dict[str, Any] = {}
    exec(python.replace("words.show()", ""), scope)
    assert [word.mean_local for word in scope["words"]] == [w.mean_local for w in numbers.words]


@pytest.mark.slow
def test_errors_are_said_where_the_user_looks(tab, small_model):
    tab.goto(f"/words?text=good&model={quote(str(small_model))}&layer=77")
    said = tab.locator("[role=alert]").first
    tab.wait_for_selector("[role=alert]:not([hidden])")
    assert "expected a layer" in said.inner_text() and "0 to 3" in said.inner_text()
    tab.fill("textarea >> nth=0", "   ")
    tab.click("button[type=submit]")
    assert "Enter a text" in said.inner_text()
    tab.goto("/words?text=good&model=/etc")
    tab.wait_for_selector("[role=alert]:not([hidden])")
    assert "wordsway serve --model /etc" in tab.locator("[role=alert]").first.inner_text()
    tab.goto(f"/words?text={quote('the film was good ' * 20)}&model={quote(str(small_model))}")
    tab.click("[role=alert] >> text=Measure the beginning")
    tab.wait_for_selector(".note >> text=the text was cut from 360 to ")
    tab.wait_for_selector(".result[data-state=done]")
    assert "cut=1" in tab.url and "--cut" in tab.locator(".code code").first.text_content()


@pytest.mark.slow
def test_a_page_that_has_lost_its_server_asks_again_when_it_is_back(tab, small_model):
    for path in ("**/api/words", "**/healthz"):
        tab.route(path, lambda route: route.fulfill(status=404, body=""))
    tab.goto(f"/words?text=good&model={quote(str(small_model))}")
    tab.wait_for_selector("[role=alert] >> text=Connection lost")
    for path in ("**/api/words", "**/healthz"):
        tab.unroute(path)
    tab.wait_for_selector(".result[data-state=done]")
    assert tab.locator("[role=alert]:not([hidden])").count() == 0


@pytest.mark.slow
def test_a_hostile_text_stays_text(tab, small_model):
    text = HOSTILE.replace("\ud800", "").replace("\x00", "")
    opened(tab, small_model, text)
    assert tab.locator("main script").count() == 0
    assert "<script>alert(1)</script>" in tab.locator(".flow").inner_text()
    opened(tab, small_model, "a" * 7_000, tiers="mean-local")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1300, "it is broken into lines"


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1300])
def test_nothing_is_wider_than_the_window(tab, small_model, width):
    tab.set_viewport_size({"width": width, "height": 800})
    opened(tab, small_model)
    tab.click(".w[data-index='1']")
    tab.wait_for_selector(".swaps li")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_the_page_equals_the_command_on_a_real_model(client, capsys):
    """MiniLM: every number of `wordsway words --json`, short text and long."""
    from wordsway.cli.app import run

    text = "I love her much"
    assert run(["words", text, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    shown = client.ask("/api/words", text=text).last("words")["result"]
    for name in (
        "model",
        "layer",
        "layers",
        "target",
        "seed",
        "tier",
        "tiers",
        "tokens",
        "scaling",
    ):
        assert shown[name] == told[name], name
    for ours, theirs in zip(shown["words"], told["words"], strict=True):
        assert _numbers(ours) == pytest.approx(_numbers(theirs), rel=1e-5)
        assert {name for name in ours if ours[name] is None} == {
            name for name in theirs if theirs[name] is None
        }


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for name in sorted(value) for number in _numbers(value[name])]
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [float(value)] if isinstance(value, int | float) else []


def test_the_assets_name_no_other_place():
    folder = Path(__file__).resolve().parents[2] / "src" / "wordsway" / "page" / "assets"
    for path in folder.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "innerHTML" not in text, path
