"""Attention, Theory and Audit in Chromium: what is drawn, what streams in, what can be taken."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import torch

from wordsway.cli.app import run
from wordsway.core.format import rounded
from wordsway.render.numbers import whole_percent

TEXT = "the film was good"


@pytest.mark.slow
def test_attention_before_and_after(tab, small_model, tmp_path):
    """Sliding changes the matrix and the share; both are those of the verb."""
    from wordsway.models.probe import Probe
    from wordsway.probing.attract import attract

    tab.goto(f"/attention?text={quote(TEXT)}&model={quote(str(small_model))}&word=1")
    tab.wait_for_selector(".result[data-state=done]")
    probe = Probe(str(small_model), eager=True)
    for reach in (1.0, 2.5):
        tab.locator("input[type=range]").fill(str(reach))
        before, after = attract(TEXT, "1", probe, reach=reach).drawn
        said = tab.locator(".headline").inner_text()
        assert f"{100 * before:.1f} % before the change" in said
        assert tab.locator(".share").inner_text() == f"{100 * after:.1f} %"
        assert f"--reach {reach:g} " in tab.locator(".code code").first.text_content()
    assert "reach=2.5" in tab.url
    tab.locator("canvas").nth(1).focus()
    tab.keyboard.press("ArrowRight")
    assert "[CLS] attends to [CLS]: " in tab.locator(".readout").nth(1).inner_text()
    tab.select_option("select[aria-label=Layer]", "3")
    tab.wait_for_selector(".result[data-state=done]")
    tab.select_option("select[aria-label=Head]", "1")
    tab.wait_for_selector(".result[data-state=done]")
    assert "layer=3" in tab.url and "head=1" in tab.url
    drawn = probe.layers.attentions(probe.read(TEXT, "input").embeds[None], "input")[3][0, 1]
    tab.locator("canvas").nth(0).focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".readout").nth(0).inner_text().endswith(f": {float(drawn[0, 0]):#.4g}")
    with tab.expect_download() as got:
        tab.click("[data-file=json]")
    got.value.save_as(tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["reach"] == 2.5 and found["rows"] == [2]
    assert (found["layer"], found["shown_head"]) == (3, 1)
    assert found["before"][0][0] == pytest.approx(float(drawn[0, 0]), rel=1e-5)
    command = shlex.split(tab.locator(".code code").first.text_content())
    assert run([*command[1:-1], "--out", str(tmp_path / "told.json")]) == 0
    told = json.loads((tmp_path / "told.json").read_text())
    for name in ("layer", "shown_head", "reach", "rows"):
        assert told[name] == found[name], name
    for name in ("before", "after"):
        assert torch.allclose(torch.tensor(told[name]), torch.tensor(found[name]), atol=1e-6)
    scope: dict[str, Any] = {}
    exec(tab.locator(".code code").nth(1).text_content().replace("found.show()", ""), scope)
    assert (scope["found"].layer, scope["found"].shown_head) == (3, 1)


@pytest.mark.slow
def test_both_claims_of_the_paper_are_decided_at_first(tab):
    tab.goto("/theory")
    tab.wait_for_selector(".result[data-state=done]")
    assert tab.locator(".verdict").all_inner_texts() == ["agrees", "agrees"]


@pytest.mark.slow
def test_the_text_is_carried_to_other_pages(tab, small_model):
    tab.goto(f"/words?text={quote(TEXT)}&model={quote(str(small_model))}")
    tab.wait_for_selector(".result[data-state=done]")
    for name in ("Theory", "Attention", "Words"):
        tab.click(f"nav a >> text={name}")
        tab.wait_for_selector(f"html[data-ready={name.lower()}]")
        if name != "Theory":
            assert tab.locator("textarea").first.input_value() == TEXT


@pytest.mark.slow
def test_a_typed_text_and_the_chosen_word_are_carried_to_other_pages(tab):
    """On Words a place of the list, in addresses and on Attention the number of the word."""
    text = "the ฉันรักเธอ film was good"
    tab.goto(f"/words?text={quote(text)}")
    tab.wait_for_selector(".result[data-state=done]")
    tab.click(".w >> text=film")
    tab.wait_for_selector(".swaps li")
    chosen = parse_qs(urlsplit(tab.url).query)["word"]
    tab.click("nav a >> text=Attention")
    tab.wait_for_selector(".result[data-state=done]")
    assert parse_qs(urlsplit(tab.url).query)["word"] == chosen
    assert "“film”" in tab.locator(".headline").inner_text()
    good = tab.locator("select[aria-label=Word] option", has_text="good").get_attribute("value")
    tab.select_option("select[aria-label=Word]", good)
    tab.wait_for_selector(".headline >> text=“good”")
    tab.click("nav a >> text=Words")
    tab.wait_for_selector(".chosen h2 >> text=good")
    for name in ("Attention", "Words"):
        tab.fill("textarea >> nth=0", f"typed on another page than {name}")
        tab.click(f"nav a >> text={name}")
        tab.wait_for_selector(".result[data-state=done]")
        query = parse_qs(urlsplit(tab.url).query)
        assert query["text"] == [f"typed on another page than {name}"] and "word" not in query


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.13, 3.9, "0.1 0.2 0.5 1 2 5"),
        (0.1, 5.1, "0.1 0.2 0.5 1 2 5 10"),
        (0.5, 2.0, "0.5 0.7 1 2"),
        (0.21, 0.24, "0.2 0.3"),
        (0.003, 40.0, "0.001 0.01 0.1 1 10 100"),
    ],
)
def test_a_logarithmic_axis_ends_at_labels_beyond_the_data(tab, low, high, ticks):
    tab.goto("/audit")
    series = [{"name": "S", "points": [[3, low], [5, high]]}]
    shown = tab.evaluate(
        """async (series) => {
          const { chart } = await import("/assets/chart.js");
          const axes = { logx: true, logy: true, xlabel: "n", xticks: [1, 3, 4.9, 5] };
          const drawn = chart({ title: "t", series, ...axes });
          const labels = [...drawn.querySelectorAll("svg.chart:not(.key) > text")];
          const at = (one, name) => Number(one.getAttribute(name));
          return labels.map((one) => [one.textContent, at(one, "x"), at(one, "y")]);
        }""",
        series,
    )
    up = [(text, y) for text, x, y in shown if x == 47]
    assert " ".join(text for text, _ in up) == ticks
    assert (up[0][1], up[-1][1]) == (240 - 42 + 4, 30 + 4), "the ends of the axis"
    along = {text: x for text, x, y in shown if y == 240 - 42 + 17}
    assert sorted(along) == ["1", "3", "5"], "labels do not run into each other"
    assert along["1"] == 54 and along["5"] == 440 - 16


@pytest.mark.slow
def test_theory_draws_itself_and_is_kept(tab):
    """Cells become points; a second visit measures nothing."""
    from wordsway.paper.sensitivity_curves import judge_slope
    from wordsway.studies.cells import Cell
    from wordsway.studies.request import Request

    tab.goto("/theory?maps=rf,raf&n=3,5,8&d=6&trials=1")
    tab.wait_for_selector(".result[data-state=done]")
    assert "6 of them computed now" in tab.locator(".status").inner_text()
    assert tab.locator(".plotted circle").count() == 6
    assert tab.locator(".plotted .band").count() == 2
    assert tab.locator(".plotted figcaption + svg .line.dotted").count() == 1
    (dotted,) = tab.locator(".keys li:has(.dotted)").all_inner_texts()
    assert dotted == "RAF (softmax): mean of the points, for comparison"
    assert tab.locator(".keys li:has(.dashed)").inner_text().startswith("RF: theory, ")
    assert tab.locator(".claims tbody tr").count() == 2
    tab.locator("svg.chart").first.focus()
    tab.keyboard.press("ArrowRight")
    assert re.match(r"n = 3: RF [\d.]+, certified at most ", tab.locator(".readout").inner_text())
    for row, name in enumerate(("rf", "raf")):
        rule = judge_slope(name, None, [3, 5, 8], 6)[1]
        assert rule in tab.locator(".claims tbody tr").nth(row).inner_text()
    tab.locator("details.all summary").first.click()
    tab.wait_for_selector("details.all tbody tr")  # the table is filled once it is open
    rows = tab.locator("details.all tbody tr").all_inner_texts()
    first = Cell(Request("rf", 3, 6), 0).run()
    assert f"{first['lower']:#.4g}" in rows[0] and f"{first['upper']:#.4g}" in rows[0]
    tab.reload()
    tab.wait_for_selector(".result[data-state=done]")
    assert "6 results, all from earlier runs" in tab.locator(".status").inner_text()
    for ending in ("json", "csv", "svg"):
        with tab.expect_download() as got:
            tab.click(f"[data-file={ending}]")
        assert got.value.suggested_filename == f"theory.{ending}"
    python = tab.locator(".code code").nth(1).text_content()
    assert len(python.splitlines()) == 5
    scope: dict[str, Any] = {}
    exec(python.rpartition("\n")[0], scope)  # all but the sweep itself
    cells = [Cell(Request(name, n, 6), 0) for name in ("rf", "raf") for n in (3, 5, 8)]
    assert [cell.key for cell in scope["study"].cells] == [cell.key for cell in cells]
    while tab.locator("[data-map]:checked").count():
        tab.locator("[data-map]:checked").first.uncheck()
    tab.click("button[type=submit]")
    assert "elect at least one" in tab.locator("[role=alert]").first.inner_text()


@pytest.mark.slow
def test_theory_refuses_what_takes_too_long(client, monkeypatch):
    from wordsway.core.errors import InputError
    from wordsway.page import theory

    monkeypatch.setattr(theory, "MOST_SIZE", 1.0)
    ask = {"maps": [{"map": "raf", "options": {}}], "n": [8], "d": 4, "seed": 0, "data": "gaussian"}
    with pytest.raises(InputError, match="smaller n or d"):
        theory.requests_of(ask)
    unknown = client.ask("/api/theory", maps=[{"map": "nothing"}], n=[4], d=4)
    assert unknown.status == 400 and "a map among" in unknown.json["error"]["message"]


@pytest.mark.slow
def test_an_audit_is_started_and_shown(tab, small_model, served, tmp_path):
    tab.goto("/audit")
    tab.wait_for_selector("html[data-ready=audit]")
    # An audit that another test left is shown first, and the form is folded away.
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    while tab.locator("[data-model]:checked").count():
        tab.locator("[data-model]:checked").first.uncheck()
    tab.check(f"[data-model='{small_model}']")
    tab.check("[data-kind=negation]")
    tab.fill("[aria-label='Texts per kind']", "4")
    tab.fill("[aria-label=Folder]", "tried/first")
    tab.click("button[type=submit]")
    tab.wait_for_selector(".result[data-state=done]")
    assert "negation" in tab.locator("table").nth(1).inner_text()
    tab.goto("/audit?folder=tried/first")
    tab.wait_for_selector(".result[data-state=done]")
    with tab.expect_download() as got:
        tab.click("[data-file=json]")
    got.value.save_as(tmp_path / "audit.json")
    found = json.loads((tmp_path / "audit.json").read_text())
    model, baseline = found["models"][0], found["baselines"][0]
    assert model["verdict"] in tab.locator(".headline").inner_text()
    by_level, by_kind, thresholds = (tab.locator("table").nth(at).inner_text() for at in range(3))
    for one in (model, baseline):
        assert rounded(one["levels"]["heavy"]["score"]) in by_level and one["name"] in by_level
    assert rounded(model["kinds"][0]["levels"]["rewording"]["score"]) in by_kind
    first = model["thresholds"][0]
    for error in ("accepted", "rejected"):
        ends = (rounded(100 * first[f"{error}_{end}"], 0) for end in ("low", "high"))
        assert f"({'–'.join(ends)} %)" in thresholds
    assert (
        whole_percent(100 * model["equal_error"]["accepted_changes"])
        in tab.locator(".result").inner_text()
    )
    counted = model["closer_changes"]
    assert f"{counted['count']} of {counted['of']} changes" in tab.locator(".spots").inner_text()
    spot = model["blind_spots"][0]
    assert spot["keeping_text"] in tab.locator(".blind").inner_text()
    assert tab.locator(".folders .chip[aria-current]").inner_text() == "tried/first"
    command = tab.locator(".code code").first.text_content()
    assert f"--model {small_model}" in command and "--kind negation --out" in command


@pytest.mark.slow
def test_the_labels_of_a_classifier_are_shown(tab, served):
    """As on the saved page: labels that change instead of differences of distances."""
    from examples import audit

    options = served.process.args
    folder = Path(options[options.index("--audits") + 1]) / "labels"
    folder.mkdir()
    (folder / "audit.json").write_text(replace(audit("a text"), target="logits").to_json())
    tab.goto("/audit?folder=labels")
    tab.wait_for_selector(".result[data-state=done]")
    cells = tab.locator("table").first.locator("tbody tr").first.locator("th, td")
    assert cells.all_inner_texts()[-5:] == ["change", "40", "61 %", "55–67 %", "–"]


@pytest.mark.slow
def test_an_audit_of_a_pasted_table(tab, small_model):
    tab.goto("/audit")
    tab.wait_for_selector("html[data-ready=audit]")
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    while tab.locator("[data-model]:checked").count():
        tab.locator("[data-model]:checked").first.uncheck()
    tab.check(f"[data-model='{small_model}']")
    tab.fill("[aria-label=Folder]", "tried/own")
    assert tab.locator("[aria-label=Table]").is_hidden()
    tab.select_option("[aria-label=Texts]", "own")
    tab.click("button[type=submit]")
    tab.wait_for_selector("text=Paste a table with the columns text,rewording,change,kind")
    file = {"name": "own.csv", "mimeType": "text/csv", "buffer": b"text,mood\nA film.,good\n"}
    tab.set_input_files("[aria-label='CSV file']", file)
    while not tab.locator("[aria-label=Table]").input_value():
        tab.wait_for_timeout(20)
    tab.click("button[type=submit]")
    tab.wait_for_selector("text=also mood")
    table = (
        "text,rewording,change,kind\nThe film was good.,It was a fine film.,The film was bad.,mine"
    )
    tab.fill("[aria-label=Table]", table)
    tab.click("button[type=submit]")
    tab.wait_for_selector(".result[data-state=done]")
    assert "mine" in tab.locator("table").nth(1).inner_text()
    assert "20 texts or more are needed" in tab.locator(".headline").inner_text()
    assert "own.csv" in tab.locator(".code code").first.text_content()


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", ["..", "../x", "/etc", "a/../../b", "a//b", ".hidden", "a/b/c/d", "ä", "a\n"]
)
def test_no_folder_outside_of_the_root(client, folder):
    for path in ("/api/audit", "/api/audit/start"):
        more = {"models": ["minilm"]} if path.endswith("start") else {}
        assert 400 <= client.ask(path, folder=folder, **more).status < 500


@pytest.mark.slow
def test_length_draws_a_curve_and_gives_the_same_numbers_as_the_verb(tab, client):
    """Gold texts: no reviews are read."""
    import wordsway as ws
    from wordsway.lengths.windows import WINDOWS

    tab.goto("/length?data=everyday&texts=8")
    tab.locator("form.ask button.primary").click()
    tab.locator(".result[data-state=done]").wait_for(timeout=300_000)
    assert "tokens" in tab.locator(".headline").first.inner_text()
    assert tab.locator(".slot svg").count() >= 3
    drawn = tab.locator(".result").inner_text()
    assert "upper end of the 95 % interval" in drawn and "[" in tab.locator("tbody").inner_text()
    assert "certified at most" not in tab.locator(".slot.tall").inner_html()
    answer = client.ask("/api/length", models=["minilm"], data="everyday", texts=8)
    shown = answer.last("length")["series"][0]
    found = ws.length("minilm", "everyday", texts=8, windows=WINDOWS, baselines=False, workers=1)
    expected = [point.change for point in found.models[0].curve().points]
    assert [ends[0] for ends in shown["change"]] == pytest.approx(expected, rel=1e-6)
    wrong = client.ask("/api/length", models=["nothing"])
    assert "a model among" in str(wrong.events or wrong.body)
