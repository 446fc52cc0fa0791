"""Execute the notebooks: `python -m tools.notebooks` rewrites their outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "notebooks"


def executed(path: Path, folder: Path) -> Any:
    """The notebook with fresh outputs, run in ``folder``."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it ran
    book.metadata.pop("widgets", None)
    return book


def printed(book: Any) -> list[str]:
    """What each cell of code printed."""
    return [
        "".join(out["text"] for out in cell.get("outputs", ()) if out["output_type"] == "stream")
        for cell in book.cells
        if cell["cell_type"] == "code"
    ]


if __name__ == "__main__":
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path, ROOT), path)
        print(path.name, file=sys.stderr, flush=True)
