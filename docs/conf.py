"""The documentation site: `make docs` builds it, offline, into out/docs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.pages import PUBLISHED  # noqa: E402
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
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_dmath_allow_digits = myst_dmath_allow_space = False
html_math_renderer = "mathml"
highlight_language = "text"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
default_role = "code"
nitpicky = False

write_reference(Path(__file__).parent / "reference" / "_generated")


def _outside(app: object, name: str, source: list[str]) -> None:
    """Point links to files outside docs/ to where they are published."""
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


def _primes(found: re.Match[str]) -> str:
    """x'' and x'^2 with their primes in the exponent."""
    return "^{" + len(found[1]) * r"\prime " + (found[2] or found[3] or "") + "}"


def mathml(node: nodes.math | nodes.math_block) -> str:
    """A formula as MathML, which browsers render by themselves. Bars and angle brackets keep their
    size unless the formula sets one, and names of functions keep a distance to their arguments.
    """
    formula = re.sub(r"('+)(?:\^\{([^{}]*)\}|\^(\w))?", _primes, node.astext())
    try:
        made = str(tex2mathml(formula, as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
        return ""
    made = made.replace('<mo stretchy="false">|</mo>', "<mo>|</mo>")
    space = '<mspace width="0.17em"></mspace>'
    made = re.sub(r"(<mi[^>]*>\w+</mi>)\s*<mo>&ApplyFunction;</mo>", rf"{space}\1{space}", made)
    # Roots are at least as tall as the font's smallest radical sign, which hangs down otherwise.
    strut = '<mspace width="0em" height="0.77em" depth="0.265em"></mspace>'
    made = made.replace("<msqrt>", f"<msqrt>{strut}")
    return re.sub(
        r'<mo(?: class="mathopen")?>([|‖⟨⟩])</mo>',
        r'<mo stretchy="false" lspace="0em" rspace="0em">\1</mo>',
        made,
    )


def _inline_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node))
    raise nodes.SkipNode


def _block_math(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{mathml(node)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the changes of sources and docstrings, and the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.connect("source-read", _outside)
    app.connect("autodoc-process-docstring", _norms)
