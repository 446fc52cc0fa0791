"""The notebooks run, and print what they show."""

from __future__ import annotations

import json

import pytest

from tools.notebooks import FOLDER, executed, printed
from tools.pages import differences

BOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_four_and_their_outputs_are_kept():
    assert len(BOOKS) == 4
    for path in BOOKS:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        assert all(cell["outputs"] for cell in cells if cell["cell_type"] == "code"), path.name


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path, tmp_path):
    import nbformat

    kept = nbformat.read(path, as_version=4)
    for shown, now in zip(printed(kept), printed(executed(path, tmp_path)), strict=True):
        assert differences(shown, now) == []
