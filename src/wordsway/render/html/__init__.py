"""Results as HTML: fragments for a notebook, and pages that need no other file."""

from __future__ import annotations

from pathlib import Path

from wordsway.core.escape import html_line
from wordsway.core.result import Result
from wordsway.render.html.blocks import render
from wordsway.render.html.document import asset, bundled, document
from wordsway.render.views import view_of


def fragment(result: Result) -> str:
    """Return the result for a notebook."""
    return render(view_of(result).blocks)


def page(result: Result) -> str:
    """Return the result as one document: its blocks below a title, its facts below them.

    Where the view names a script, the script draws the data in place of the blocks, which remain
    for readers without scripts.
    """
    view = view_of(result)
    body = [f"<h1>{html_line(view.title)}</h1>"]
    body += [f'<p class="lead">{html_line(view.lead)}</p>'] if view.lead else []
    body.append(f'<div id="view">{render(view.blocks, page=True)}</div>')
    if view.facts:
        rows = "".join(
            f"<dt>{html_line(name)}</dt><dd><bdi>{html_line(value)}</bdi></dd>"
            for name, value in view.facts.items()
        )
        body += ["<h2>Where these numbers come from</h2>", f"<dl>{rows}</dl>"]
    model = f" · {view.facts['model']}" if "model" in view.facts else ""
    data = {"result": result.to_dict()} | ({"drawn": view.data()} if view.data else {})
    scripted = bool(view.script)
    return document(
        f"{view.title}{model}",
        body,
        style=asset("chart.css") + asset("results.css") if scripted else "",
        data=data,
        script=bundled(view.script) if scripted else "",
    )


def save(result: Result, path: Path, kind: str) -> None:
    """Write one file."""
    path.write_bytes(page(result).encode())
