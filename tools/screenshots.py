"""The pictures of the page and of the playground in the documentation.

python -m tools.screenshots [page] [playground]        docs/page.png and docs/playground.png
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.browser import REMEDY, find
from tools.pages import DOCS

PAGE = "words?text=The+drug+is+safe+for+children&other=The+drug+is+unsafe+for+children&model=minilm"
WIDTH, HEIGHT = 1300, 868
#: Milliseconds that a model may take on a busy machine.
PATIENCE = 300_000


def page(tab: Any, target: Path) -> None:
    """Two texts on the page, served by a separate process."""
    serve = [sys.executable, "-m", "wordsway", "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as at:
        try:
            assert at.stdout is not None
            found = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in at.stdout)
            tab.goto(next(match for match in found if match)[0] + PAGE)
            tab.wait_for_selector(".result[data-state=done]", timeout=PATIENCE)
            tab.wait_for_selector(".w.differs")
            tab.screenshot(path=target)
        finally:
            at.terminate()


def playground(tab: Any, target: Path) -> None:
    """The fourth step of the playground's tour: the worst change and its ceiling."""
    import wordsway as ws

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "playground.html"
        ws.playground(file)
        tab.goto(file.as_uri())
        for _ in range(3):
            tab.click("text=Next")
        tab.wait_for_function("document.getElementById('S').textContent !== '0.000'")
        tab.wait_for_timeout(1500)  # until the handle stands still
        tab.screenshot(path=target)


if __name__ == "__main__":
    from PIL import Image
    from playwright.sync_api import sync_playwright

    if find() is None:
        sys.exit(REMEDY)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        for draw in (page, playground):
            if sys.argv[1:] and draw.__name__ not in sys.argv[1:]:
                continue
            tab = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
            ).new_page()
            target = DOCS / f"{draw.__name__}.png"
            draw(tab, target)
            Image.open(target).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
                target, optimize=True
            )
        browser.close()
