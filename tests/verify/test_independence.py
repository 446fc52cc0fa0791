"""The verifier works where nothing else of wordsway can be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wordsway as ws
import wordsway.verifier
from wordsway.proof_format import Document, write

pytest.importorskip("flint")

PACKAGE = Path(wordsway.verifier.__file__).parent
#: Imports of wordsway outside the verifier fail, and so does torch.
ALONE = f"""
import importlib.abc, sys, types

class Garbage(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        allowed = name == "wordsway.proof_format" or "verifier" in name
        if name == "torch" or name.startswith("wordsway.") and not allowed:
            raise ImportError(name + " is garbage here")

sys.meta_path.insert(0, Garbage())
package = types.ModuleType("wordsway")
package.__path__ = [{str(PACKAGE.parent)!r}]
sys.modules["wordsway"] = package
from wordsway.verifier.check import check
from wordsway.proof_format import RefusedError
for path in sys.argv[1:]:
    try:
        claims = check(open(path, "rb").read()).fields["claims"]
        print("verified", *(claim["upper"] for claim in claims))
    except RefusedError:
        print("refused")
"""


def test_proofs_are_verified_and_refused_without_the_rest_of_wordsway(tmp_path):
    X = ws.Sample.gaussian(n=5, d=4, seed=0)
    maps = [ws.RAF(d=4, seed=1), ws.read_out(ws.RAF(d=4, seed=1), "mean")]
    maps += [ws.Attention(d=4, seed=1, heads=2), ws.Attention(d=4, seed=1, positions="rope")]
    expected, paths = [], []
    for number, phi in enumerate(maps):
        s = ws.sensitivity(phi, X, positions=0, proof=True)
        assert s.proof is not None
        paths.append(s.proof.save(tmp_path / f"{number}.proof"))
        expected.append(f"verified {s.upper}")
    claims = [{"row": 0, "upper": s.lower / 2}]
    false = Document(s.proof.document.fields | {"claims": claims}, s.proof.document.arrays)
    paths.append(tmp_path / "false.proof")
    paths[-1].write_bytes(write(false))
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [*expected, "refused"], done.stderr


def test_the_verifier_is_short_and_imports_nothing_else_of_wordsway():
    sources = [path.read_text("utf-8") for path in sorted(PACKAGE.glob("*.py"))]
    assert sum(len(source.splitlines()) for source in sources) <= 800
    imports = [line for source in sources for line in source.splitlines() if "import" in line]
    own = ("from wordsway.verifier", "from wordsway.proof_format")
    assert all(line.startswith(own) for line in imports if "from wordsway" in line)
