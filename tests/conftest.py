from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tools.browser import REMEDY, find


@pytest.fixture(autouse=True)
def _same_threads():
    """Tests of small matrices are faster on one thread, and a test never depends on how many there
    are.
    """
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for a process of tests."""
    path = find()
    if path is None:
        pytest.skip(REMEDY)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
