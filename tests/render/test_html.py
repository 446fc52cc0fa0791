"""Elements of HTML: marked words stand in their place, a heat table has a cell for every pair."""

from __future__ import annotations

import re

import numpy as np
import pytest

from examples import PLAIN, attention, comparison, swaps
from pages import Page
from wordsway.core.escape import readable
from wordsway.render.html.blocks import STRONGEST


def test_the_differing_words_are_marked_in_their_place() -> None:
    result = comparison("a\r\nfilm <b> was dull")
    document = result._repr_html_()
    marked = re.findall(r'<span style="background:rgba[^"]*">([^<]*)</span>', document)
    assert marked == ["dull", "good"]
    assert "a  film &lt;b&gt; was" in document
    assert "film <b> was" in "".join(Page(document).read)


def test_heat_has_a_cell_for_every_pair() -> None:
    result = attention("the film was dull")
    document = result._repr_html_()
    cells = re.findall(r'<td title="(\w+) → (\w+): ([\d.]+)"', document)
    values = np.concatenate([text.matrix.ravel() for text in result.texts])
    assert [float(value) for *_, value in cells[:32]] == pytest.approx(values.tolist(), rel=1e-3)
    assert [row for row, *_ in cells[:16]] == [
        name for name in result.texts[0].labels for _ in range(4)
    ]
    depths = [float(depth) for depth in re.findall(r"rgba\(213,94,0,([\d.]+)\)", document)[:16]]
    expected = STRONGEST * result.texts[0].matrix.ravel() / values.max()
    assert depths == pytest.approx(expected.tolist(), abs=1e-3)
    assert result.difference is not None
    losses = len(re.findall(r"rgba\(0,114,178,", document))
    assert losses == int((result.difference < 0).sum()), "what is lost is blue"


def test_a_text_is_readable_in_the_swaps() -> None:
    assert readable(PLAIN) in "".join(Page(swaps(PLAIN)._repr_html_()).read)
