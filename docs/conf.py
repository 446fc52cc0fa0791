"""The documentation site: `make docs` builds it, offline, into out/docs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = "https://github.com/wordsway/wordsway/blob/main/"
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.reference import write_reference  # noqa: E402
from wordsway.version import __version__  # noqa: E402

project, author, release = "wordsway", "The wordsway authors", __version__
project_copyright = "the wordsway authors, MIT licence"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"wordsway {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
exclude_patterns = ["reference/_generated", "notebooks/.ipynb_checkpoints"]
suppress_warnings = ["myst.header"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
highlight_language = "text"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
default_role = "code"
nitpicky = False

write_reference(Path(__file__).parent / "reference" / "_generated")


def _outside(app: object, name: str, source: list[str]) -> None:
    """Links to the project's own files beside docs/ lead to where they are published."""
    source[0] = re.sub(
        r"\]\((?:\.\./)+((?:src|tests|examples|[A-Z]+\.md)[^)]*)\)", rf"]({PUBLISHED}\1)", source[0]
    )


def _listed(lines: list[str]) -> Iterator[str]:
    """Underlined headings (Parameters) as bold lines, ``name : meaning`` below them as items."""
    inside = False
    for number, line in enumerate(lines):
        below = lines[number + 1].strip() if number + 1 < len(lines) else ""
        item = re.match(r"(\S.*?) : (.*)", line)
        if line.strip() and re.fullmatch("-{3,}", below):
            yield from (f"**{line.strip()}**", "")
        elif re.fullmatch("-{3,}", line.strip()):
            inside = True
        elif inside and item:
            yield f"- ``{item[1]}``: {item[2]}"
        elif inside and line.strip():
            yield f"  {line.strip()}"
        else:
            inside = False
            yield line


def _norms(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Lists of parameters as lists; a bar is an absolute value, not a substitution."""
    lines[:] = list(_listed(lines))
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``.*?``)", line)
            parts[::2] = [re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app: Any) -> None:
    """What is changed while pages are read."""
    app.connect("source-read", _outside)
    app.connect("autodoc-process-docstring", _norms)
