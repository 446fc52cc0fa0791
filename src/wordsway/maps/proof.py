"""Proofs of certificates: what `wordsway.verifier` needs to verify an upper end by itself.

A proof holds the text and the weights, one claim for each row, and the multipliers, cells and norms
with which a claim is verified. Any positive multipliers are valid, so they are written down as they
were tuned; each claim is raised by `SLACK`, which pays for halved intervals and claimed norms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from wordsway.core.atomic import atomic
from wordsway.core.checks import validated
from wordsway.core.errors import InputError, WordswayError, needs
from wordsway.core.result import Result
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.dual import (
    FINE_SPLITS,
    SPLITS,
    cells,
    halved_cells,
    interpolate,
)
from wordsway.maps.attention.certificates.one_matrix import SolvedDual, WrapperContext, solve
from wordsway.maps.attention.certificates.reading import certify_row, solve_mean
from wordsway.maps.attention.family import Attention
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.softmax import SoftmaxBounds
from wordsway.maps.base import FeatureMap
from wordsway.maps.dense.definition import FullyConnected
from wordsway.maps.rigorous import eigenvalue_upper_bound, opnorm_upper_bound
from wordsway.maps.wrappers.read_out import ReadOut
from wordsway.maps.wrappers.residual import Residual
from wordsway.verifier.check import Verified, check
from wordsway.verifier.format import Array, Document, RefusedError, digest, write
from wordsway.version import __version__

if TYPE_CHECKING:
    import pandas

#: By how much a claim exceeds the certificate.
SLACK = 1e-3
#: By how much a claimed eigenvalue exceeds the computed one.
RAISED = 1 + 1e-6
#: The same relative to the trace.
TINY = 1e-13
#: Fully connected maps with more weights than this have no verifier: it would take hours.
MOST_WEIGHTS = 2**20


@final
class Proof:
    """A proof of the upper ends of one result.

    >>> import wordsway as ws
    >>> X = ws.Sample.gaussian(n=4, d=3, seed=0)
    >>> s = ws.sensitivity(ws.RAF(d=3, seed=1), X, positions=0, proof=True)
    >>> s.certificate, s.proof.verify().uppers[0] == s.upper
    ('verified', True)
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._bytes = write(document)

    def save(self, path: str | Path) -> Path:
        """Write the proof to a file, for ``wordsway verify FILE``."""
        path = Path(path)
        try:
            with atomic(path) as partial:
                partial.write_bytes(self._bytes)
        except OSError as error:
            raise WordswayError(f"cannot write {path}: {error.strerror}") from None
        return path

    def verify(self) -> Verification:
        """Verify every inequality in ball arithmetic; an error names the first that fails."""
        return _verification(self._bytes)

    def __repr__(self) -> str:
        return f"Proof({len(self.document.fields['claims'])} rows, {len(self._bytes):,} bytes)"


@dataclass(frozen=True)
class Verification(Result, brief="rows uppers radius"):
    """What the verifier proved from the file alone: for every row of ``rows`` and all Δ with
    ‖Δ‖ ≤ ``radius``, the relative change of the map is at most the number in ``uppers``.

    ``inputs`` has the SHA-256 of the text and of the weights in the file; ``about`` says where they
    came from and is not verified.
    """

    rows: tuple[int, ...]
    uppers: tuple[float, ...]
    radius: float
    map: dict[str, Any]
    inputs: dict[str, str]
    about: dict[str, Any]
    bytes: int
    seconds: float

    @property
    def upper(self) -> float:
        """The largest of ``uppers``."""
        return max(self.uppers)

    def to_dict(self) -> dict[str, Any]:
        return {
            "verified": True,
            "upper": self.upper,
            "rows": list(self.rows),
            "uppers": list(self.uppers),
            "radius": self.radius,
            "map": self.map,
            "inputs": self.inputs,
            "about": self.about,
            "bytes": self.bytes,
            "seconds": self.seconds,
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per row of the text."""
        import pandas

        return pandas.DataFrame({"position": self.rows, "upper": self.uppers})


@validated
def verify(path: str | Path) -> Verification:
    """Verify the proof in a file, in ball arithmetic and from the file alone.

    An error names the first inequality that does not hold.
    """
    if isinstance(path, str) and (not path or "\0" in path):
        raise InputError("the name of a file", repr(path), "pass what `proof.save` wrote")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise WordswayError(f"cannot read {path}: {error.strerror}") from None
    return _verification(data)


def _verification(data: bytes) -> Verification:
    needs("proofs", "flint")
    try:
        found: Verified = check(data)
    except RefusedError as error:
        raise WordswayError(f"not proved: {error}") from None
    return Verification(
        found.rows,
        found.uppers,
        found.radius,
        found.fields["map"],
        found.inputs,
        found.fields.get("about", {}),
        len(data),
        found.seconds,
    )


def prove(phi: FeatureMap, sample: Sample, rows: Sequence[int], radius: float) -> Proof | None:
    """A proof of the upper end at each of the rows; None where this kind of map has no verifier."""
    read_out: str | int = "all"
    if isinstance(phi, ReadOut):
        read_out = phi.which if isinstance(phi.which, str) else phi.which % sample.n
        phi = phi.inner
    residual = isinstance(phi, Residual)
    inner = phi.inner if isinstance(phi, Residual) else phi
    if isinstance(inner, FullyConnected) and inner is phi and read_out == "all":
        return _dense(inner, sample, rows, radius)
    if not isinstance(inner, Attention):
        return None
    function = inner.function
    about = {
        "kind": "attention",
        "scores": "sink" if function.scores.sink else "softmax",
        "power": function.power,
        "log_n": function.log_n,
        "temperature": inner.temperature,
        "mask": inner.mask,
        "size": inner.window if inner.mask == "window" else inner.visible,
        "alibi": inner.positions == "alibi",
        "residual": residual,
        "read_out": read_out,
    }
    view = inner.view(sample, torch.float64)
    if not (
        isinstance(view, AttentionView)
        and isinstance(view.bounds, SoftmaxBounds)
        and inner.positions in ("none", "alibi")
    ):
        return None
    claims = _Attention(view, radius, read_out, residual=residual).claims(rows)
    return _written(phi, about, {"X": sample.X, "W": inner.weight}, claims, radius)


Claims = Iterable[tuple[dict[str, Any], dict[str, Array]]]


def _written(
    phi: FeatureMap,
    about: dict[str, Any],
    inputs: dict[str, torch.Tensor],
    claims: Claims,
    radius: float,
) -> Proof:
    """The proof of claims, each with the arrays that belong to it."""
    found, arrays = [], {name: _array(part) for name, part in inputs.items()}
    for claim, parts in claims:
        found.append(claim)
        arrays |= {f"{claim['row']}/{name}": part for name, part in parts.items()}
    fields = {
        "map": about,
        "radius": float(radius),
        "claims": found,
        "inputs": {name: digest(arrays[name]) for name in inputs},
        "about": {"map": phi.describe(), "wordsway": __version__},
    }
    return Proof(Document(fields, arrays))


def _dense(phi: FullyConnected, sample: Sample, rows: Sequence[int], radius: float) -> Proof | None:
    """RF and DRF with ReLU whose weights are held in memory, and few enough for balls."""
    entries = phi.k * sample.n * sample.d + (phi.depth - 1) * phi.k**2
    if phi.on_demand or phi.activation.function is not torch.relu or entries > MOST_WEIGHTS:
        return None
    trace = phi.view(sample, torch.float64).trace
    weights = [V.dense().to(torch.float64) for V in (phi.first, *phi.later)]

    def claims() -> Claims:
        for i in rows:
            rho, norms = radius, []
            first = weights[0][:, i * sample.d : (i + 1) * sample.d]
            for V, z in zip([first, *weights[1:]], trace.z, strict=True):
                reach = rho * V.norm(dim=1).clamp_min(1e-300)
                gain = torch.where(z > 0, 1.0, (1 - z.abs() / reach).clamp_min(0))
                norm = opnorm_upper_bound(gain[:, None] * V) * RAISED
                norms.append(norm**2)
                rho *= norm
            upper = rho / trace.norm_below * RAISED if trace.norm_below else 0.0
            yield {"row": int(i), "upper": float(upper)}, {"norms": np.array(norms)}

    inputs = {"X": sample.X} | {f"V{l}": V for l, V in enumerate(weights, 1)}
    return _written(phi, {"kind": "dense", "depth": phi.depth}, inputs, claims(), radius)


def _array(part: torch.Tensor) -> Array:
    return part.detach().cpu().to(torch.float64).numpy()


class _Attention:
    """The claims about one attention layer."""

    def __init__(
        self, view: AttentionView, radius: float, read_out: str | int, *, residual: bool
    ) -> None:
        self.layer, self.radius, self.read_out = view.layer, radius, read_out
        self.residual, self.view = residual, view
        rows = view.layer.phi + (view.layer.X if residual else 0)
        if isinstance(read_out, int):
            rows = rows[read_out]
        self.norm = float((rows.sum(0) if read_out == "mean" else rows).norm())

    def claims(self, rows: Sequence[int]) -> Claims:
        """One claim for each row, and the arrays that belong to it."""
        layer, bounds, r = self.layer, self.view.bounds, self.radius
        assert isinstance(bounds, SoftmaxBounds)
        if isinstance(self.read_out, int):
            found = certify_row(layer, bounds, self.read_out, rows, r).upper.tolist()
            for i, move in zip(rows, found, strict=True):
                move += r if self.residual and i == self.read_out else 0.0
                yield self._claim(i, move), {}
            return
        around = WrapperContext(layer.norm_below, self.residual)
        mean = self.read_out == "mean"
        solved = (solve_mean if mean else solve)(layer, bounds, rows, r, around)
        for i, one in zip(rows, solved, strict=True):
            rows_moved = layer.rows_attending_to(i)
            alone = (layer.s > -math.inf).sum(1) == 1  # rows with one key change by Δ
            kept = ~alone[rows_moved] | layer.scores.sink
            arrays = self._multipliers(one, kept) | self._norms(i, one, kept, mean=mean)
            yield self._claim(i, one.total if mean else math.sqrt(one.total)), arrays

    def _claim(self, i: int, move: float) -> dict[str, Any]:
        return {"row": int(i), "upper": move / self.norm * (1 + SLACK)}

    def _multipliers(self, solved: SolvedDual, kept: torch.Tensor) -> dict[str, Array]:
        """Cells of β, in order, with λ, κ and ν; and the weights of the rows."""
        fourth = len(solved.multipliers) > 2
        lo, hi, _ = halved_cells(
            solved.problem, self.radius, solved.multipliers, FINE_SPLITS if fourth else SPLITS
        )
        lo, order = lo.sort()
        hi = hi[order]
        start, end = cells(self.radius, lo)
        tuned = [
            interpolate((lo + hi) / 2, (start + end) / 2, part).exp() for part in solved.multipliers
        ]
        if not fourth:
            tuned.append(torch.zeros_like(lo))
        lo[0], hi[-1] = -self.radius, self.radius
        lo[1:] = hi[:-1]
        table = torch.stack([lo, hi, *tuned], 1)
        rows = solved.problem.rows
        weights = (rows.price_width2 / rows.width2)[:, 0].sqrt().nan_to_num(1.0)
        return {"cells": _array(table), "weights": _array(weights[kept])}

    def _norms(
        self, i: int, solved: SolvedDual, kept: torch.Tensor, *, mean: bool
    ) -> dict[str, Array]:
        """The axis e and the claimed eigenvalues."""
        layer, prices = self.layer, solved.problem.prices
        y = layer.directions(i, layer.rows_attending_to(i))[kept]
        axis = y.mean(0) if len(y) else layer.X[i]
        if mean:
            rest = y - axis
            largest = eigenvalue_upper_bound(rest @ rest.T)
        else:
            largest = prices.norm_y**2
        found = {"axis": _array(axis)} if not mean else {}
        sizes = [float((part * part).sum()) for part in (prices.across, y)]
        found["norms"] = np.array([prices.norm_a**2, largest]) * RAISED + TINY * np.array(sizes)
        return found | (_fourth(prices.across[kept]) if len(solved.multipliers) > 2 else {})


def _fourth(A: torch.Tensor) -> dict[str, Array]:
    """What `wordsway.verifier.attention.fourth_bound` needs for the rows A_j."""
    gram = A @ A.T
    G = gram * gram
    values, vectors = torch.linalg.eigh(G)
    v = vectors[:, -1] * vectors[:, -1].sum().sign()
    v = v.clamp_min(0) / v.clamp_min(0).norm()
    tau = 0.0
    if len(values) > 1:
        tau = min(0.999, max(0.0, 1 - 1.02 * float(values[-2]) / float(values[-1])))
    Gv, s = G @ v, 1 - math.sqrt(1 - tau)
    cross = torch.outer(v, Gv)
    inner = G - s * (cross + cross.T) + s * s * float(v @ Gv) * torch.outer(v, v)
    top = float(torch.linalg.eigvalsh(inner)[-1])
    root = v.sqrt()
    most = float(torch.linalg.eigvalsh(root[:, None] * gram * root)[-1])
    top, most = top * RAISED + TINY * float(G.trace()), most * RAISED + TINY * float(gram.trace())
    return {"fourth": _array(v), "fourth-norms": np.array([tau, top, most])}
