"""One server and one browser for all tests of the page; a small model for what is clicked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tiny
from serving import PATIENCE, Client, Served, start


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    """A BERT of three layers with random weights, in a folder of the user's own."""
    return tiny.save(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def served(small_model, tmp_path_factory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    with start(
        "--model", str(small_model), "--store", str(folder / "cells"), "--audits", str(folder)
    ) as running:
        yield running


@pytest.fixture
def client(served) -> Client:
    return served.client


@pytest.fixture
def tab(chromium, served) -> Iterator[Any]:
    """A page of the browser; anything that it complains of fails the test."""
    context = chromium.new_context(
        viewport={"width": 1300, "height": 900},
        base_url=served.address,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda said: (
            wrong.append(said.text)
            if said.type == "error" and "status of 4" not in said.text
            else None
        ),
    )
    page.on(
        "request",
        lambda sent: (
            None
            if sent.url.startswith((served.address, "data:", "blob:"))
            else wrong.append(f"foreign request: {sent.url}")
        ),
    )
    yield page
    context.close()
    assert wrong == []
