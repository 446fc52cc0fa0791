"""Proofs of certificates: what `wordsway.verifier` needs to verify an upper end by itself.

A proof holds the text and the weights, one claim for each row, and the multipliers, cells and norms
with which a claim is verified. Any positive multipliers are valid, so they are written down as they
were tuned; each claim is raised by `SLACK`, which pays for halved intervals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch

from wordsway.core.atomic import atomic
from wordsway.core.checks import validated
from wordsway.core.errors import InputError, WordswayError, needs
from wordsway.core.result import Result
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import (
    FINE_SPLITS,
    SPLITS,
    Cells,
    cells,
    halved_cells,
)
from wordsway.maps.attention.certificates.heads import HeadsCertificate
from wordsway.maps.attention.certificates.heads_gain import TURNED
from wordsway.maps.attention.certificates.one_matrix import SolvedDual, WrapperContext, solve
from wordsway.maps.attention.certificates.problem import interpolate
from wordsway.maps.attention.certificates.reading import certify_row, solve_mean
from wordsway.maps.attention.family import Attention
from wordsway.maps.attention.heads import HeadsLayer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.relu import ReluBounds, silencing_weights
from wordsway.maps.attention.scores.sigmoid import SigmoidBounds
from wordsway.maps.attention.scores.softmax import SoftmaxBounds
from wordsway.maps.base import FeatureMap
from wordsway.maps.block import NormedText, longest_move
from wordsway.maps.dense.definition import FullyConnected
from wordsway.maps.rigorous import opnorm_upper_bound
from wordsway.maps.wrappers import Norm, NormedMap, ReadOut, Residual
from wordsway.proof_format import Array, Document, RefusedError, digest, write
from wordsway.verifier.check import check
from wordsway.version import __version__

if TYPE_CHECKING:
    import pandas

#: By how much a claim exceeds the certificate; the larger part where the smaller one is refused.
SLACK, LARGER_SLACK = 1e-3, 1e-2
#: By how much numbers are raised that have to be above a computed one.
RAISED = 1 + 1e-6
#: By which factor the ratios ρ of two prices, whose norms together a proof uses, differ.
JOINED = 1.25
#: Fully connected maps with more weights than this have no verifier: it would take hours.
MOST_WEIGHTS = 2**20
#: So have heads whose matrix B has more rows than this, for lack of memory.
MOST_SIDE = 2**11


class NotProvedError(WordswayError):
    """A proof that the verifier refuses; the message names the first condition that fails."""


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

    def noting(self, **facts: Any) -> Proof:
        """The proof with further facts ``about`` its inputs, which are not verified."""
        fields = self.document.fields
        return Proof(Document(fields | {"about": fields["about"] | facts}, self.document.arrays))

    def save(self, path: str | Path) -> Path:
        """Write the proof to a file, for ``wordsway verify FILE``."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as partial:
                partial.write_bytes(self._bytes)
        except OSError as error:
            reason = f"cannot write {path} ({error.strerror})"
            raise WordswayError(f"{reason}: choose another file") from None
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
    n: int | None = None
    d: int | None = None

    @property
    def upper(self) -> float:
        """The largest of ``uppers``."""
        return max(self.uppers)

    def to_dict(self) -> dict[str, Any]:
        return {"verified": True, "upper": self.upper} | super().to_dict()

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per row of the text."""
        import pandas

        return pandas.DataFrame({"position": self.rows, "upper": self.uppers})


@validated
def verify(path: str | Path) -> Verification:
    """Verify the proof in a file, in ball arithmetic and from the file alone.

    An error names the first inequality that does not hold.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = getattr(error, "strerror", error)
        remedy = "pass what `proof.save` or measure --proof wrote"
        raise InputError("a file of a proof", f"{str(path)!r} ({reason})", remedy) from None
    return _verification(data)


def _verification(data: bytes) -> Verification:
    needs("proofs", "flint")
    started = time.perf_counter()
    try:
        found = check(data)
    except RefusedError as error:
        raise NotProvedError(f"not proved: {error}") from None
    fields, arrays = found.fields, found.arrays
    return Verification(
        tuple(claim["row"] for claim in fields["claims"]),
        tuple(claim["upper"] for claim in fields["claims"]),
        fields["radius"],
        fields["map"],
        {name: digest(part) for name, part in arrays.items() if "/" not in name},
        fields["about"],
        len(data),
        time.perf_counter() - started,
        *arrays["X"].shape,
    )


def prove(
    phi: FeatureMap, sample: Sample, rows: Sequence[int], radius: float, slack: float = SLACK
) -> Proof:
    """A proof of the upper end, raised by ``slack``, at each of the rows; an error where this map
    has no verifier.
    """
    if isinstance(phi, FullyConnected):
        return _dense(phi, sample, rows, radius)
    if isinstance(phi, Attention) and not phi.one_matrix:
        return _heads(phi, sample, rows, radius, slack)
    layers = _Layers.of(phi, sample)
    inputs = _text(layers.attention, sample) | {"W": layers.attention.weight}
    claims = _Attention(layers, sample, radius, slack).claims(rows)
    return write_proof(phi.describe(), _about("attention", layers), inputs, claims, radius)


def _not_covered(phi: FeatureMap) -> InputError:
    remedy = "docs/proofs.md lists the maps that have one"
    return InputError("a map with a verifier", repr(phi), remedy)


def _about(kind: str, layers: _Layers) -> dict[str, Any]:
    """The fields of attention."""
    inner, function = layers.attention, layers.attention.function
    return {
        "kind": kind,
        "scores": layers.scores,
        "power": function.power,
        "log_n": function.log_n,
        "temperature": inner.temperature,
        "mask": inner.mask,
        "size": inner.window if inner.mask == "window" else inner.visible,
        "alibi": inner.positions == "alibi",
        "residual": layers.residual,
        "read_out": layers.read_out,
        "front": _norm(layers.front),
        "outer": _norm(layers.outer),
    }


def _text(inner: Attention, sample: Sample) -> dict[str, torch.Tensor]:
    """The text, and what is added to it."""
    X = sample.X.to(torch.float64)
    if inner.positions in ("sinusoidal", "learned"):
        return {"X": X, "positions": inner.encoded(torch.zeros_like(X))}
    return {"X": X}


def _norm(norm: Norm | None) -> dict[str, Any] | None:
    return None if norm is None else {"norm": norm.kind, "epsilon": norm.epsilon}


class _Layers(NamedTuple):
    """A map that the verifier knows: a read-out of N(X + A(N(X))), each part optional."""

    phi: FeatureMap
    read_out: str | int
    outer: Norm | None
    residual: bool
    front: Norm | None
    attention: Attention
    scores: str

    @classmethod
    def of(cls, phi: FeatureMap, sample: Sample) -> _Layers:
        read_out: str | int = "all"
        inner = phi
        if isinstance(inner, ReadOut):
            read_out = inner.which if isinstance(inner.which, str) else inner.which % sample.n
            inner = inner.inner
        outer = inner.norm if isinstance(inner, NormedMap) else None
        inner = inner.inner if isinstance(inner, NormedMap) else inner
        residual = isinstance(inner, Residual)
        inner = inner.inner if isinstance(inner, Residual) else inner
        front = inner.norm if isinstance(inner, NormedText) else None
        inner = inner.inner if isinstance(inner, NormedText) else inner
        if not isinstance(inner, Attention) or not inner.one_matrix:
            raise _not_covered(phi)
        kinds = (("softmax", SoftmaxBounds), ("relu", ReluBounds), ("sigmoid", SigmoidBounds))
        known = [name for name, kind in kinds if isinstance(inner.function.bounds, kind)]
        scores = "sink" if inner.function.scores.sink else known[0] if known else None
        normed = outer is not None or front is not None
        unknown = read_out != "all" and (normed or scores == "sigmoid")
        unknown |= scores == "sigmoid" and (outer is not None or (residual and front is not None))
        if scores is None or unknown:
            raise _not_covered(phi)
        return cls(phi, read_out, outer, residual, front, inner, scores)


Claims = Iterable[tuple[dict[str, Any], dict[str, Array]]]


def write_proof(
    described: dict[str, Any],
    about: dict[str, Any],
    inputs: dict[str, torch.Tensor],
    claims: Claims,
    radius: float,
    shared: dict[str, Array] | None = None,
) -> Proof:
    """The proof of claims about the map ``about``, each with the arrays that belong to it, and with
    those that they share; ``described`` is not verified.
    """
    found, arrays = [], {name: _array(part) for name, part in inputs.items()}
    for claim, parts in claims:
        found.append(claim)
        arrays |= {f"{claim['row']}/{name}": part for name, part in parts.items()}
    arrays |= shared or {}
    fields = {
        "map": about,
        "radius": float(radius),
        "claims": found,
        "inputs": {name: digest(arrays[name]) for name in inputs},
        "about": {"map": described, "wordsway": __version__},
    }
    return Proof(Document(fields, arrays))


def _dense(phi: FullyConnected, sample: Sample, rows: Sequence[int], radius: float) -> Proof:
    """RF and DRF with ReLU whose weights are held in memory, and few enough for balls."""
    entries = phi.k * sample.n * sample.d + (phi.depth - 1) * phi.k**2
    if entries > MOST_WEIGHTS:
        limit = f"at most {MOST_WEIGHTS:,} weights in a proof"
        raise InputError(limit, f"{entries:,}", "choose a smaller n, d or k")
    if phi.activation.function is not torch.relu:
        raise InputError("ReLU in a proof", phi.activation.name, "choose relu")
    trace = phi.view(sample, torch.float64).trace
    weights = [V.to(torch.float64) for V in phi.weights]

    def claims() -> Claims:
        for i in rows:
            rho = radius
            first = weights[0][:, i * sample.d : (i + 1) * sample.d]
            for V, z in zip([first, *weights[1:]], trace.z, strict=True):
                reach = rho * V.norm(dim=1).clamp_min(1e-300)
                gain = torch.where(z > 0, 1.0, (1 - z.abs() / reach).clamp_min(0))
                rho *= opnorm_upper_bound(gain[:, None] * V) * RAISED
            upper = rho / trace.norm_below * RAISED if trace.norm_below else 0.0
            yield {"row": int(i), "upper": float(upper)}, {}

    inputs = {"X": sample.X} | {f"V{l}": V for l, V in enumerate(weights, 1)}
    about = {"kind": "dense", "depth": phi.depth}
    return write_proof(phi.describe(), about, inputs, claims(), radius)


def _heads(
    phi: Attention, sample: Sample, rows: Sequence[int], radius: float, slack: float
) -> Proof:
    """Softmax attention with heads, or with rotations."""
    function, weights = phi.function, phi.projections
    known = function.scores.logistic and function.lift.plain
    if not known or (phi.scores == "differential" and phi.positions == "alibi"):
        raise _not_covered(phi)
    layer, certificate = phi.view(sample, torch.float64).layer, HeadsCertificate(weights)
    assert isinstance(layer, HeadsLayer)
    if certificate.together is not None and weights.heads * phi.d > MOST_SIDE:
        limit = f"at most {MOST_SIDE:,} heads × dimensions in a proof"
        raise InputError(limit, f"{weights.heads * phi.d:,}", "choose a smaller d, or fewer heads")
    scores = "sink" if function.scores.sink else "softmax"
    about = _about("heads", _Layers(phi, "all", None, False, None, phi, scores))
    about |= {"heads": weights.heads, "rope": phi.positions == "rope"}
    matrices = {name: getattr(weights, name) for name in "QKVO"}
    given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    shared, (kappa, factors) = {}, certificate.gain
    if factors is not None:
        shared = {"heads/gain": _array(factors.flatten(0, 1)), "heads/kappa": np.array([kappa**2])}
    if certificate.together is not None:
        shared["heads/theta"] = np.array([TURNED])
    most = certificate.most(radius) * RAISED

    def claims() -> Claims:
        for i in rows:
            solved = certificate.solve(layer, i, radius)
            used = {
                min(solved.lines, key=lambda line: radius**2 * line.top - line.mu * low)
                for _, low, _, _ in solved.cells
            }
            cells = sorted([low, high, lam, 1.0, 0.0] for _, low, high, lam in solved.cells)
            cells = cells or [[0.0, most, 0.0, 1.0, 0.0]]
            cells[-1][1] = most
            arrays = {
                "cells": np.array(cells),
                "weights": _array(solved.weight.T.flatten()),
                "prices": np.array([line.mu for line in used if not line.together] or [0.0]),
            }
            joined = [line.mu for line in used if line.together]
            arrays |= {"joined": np.array(joined)} if joined else {}
            upper = math.sqrt(solved.total) / layer.norm * (1 + slack)
            yield {"row": int(i), "upper": upper}, arrays

    inputs = _text(phi, sample) | given
    return write_proof(phi.describe(), about, inputs, claims(), radius, shared)


def _array(part: torch.Tensor) -> Array:
    return part.detach().cpu().to(torch.float64).numpy()


class _Attention:
    """The claims about one attention layer."""

    def __init__(self, layers: _Layers, sample: Sample, radius: float, slack: float) -> None:
        self.layers, self.radius, self.slack = layers, radius, slack
        self.text = sample
        if layers.front is not None:
            self.text = Sample(layers.front(sample.X.to(torch.float64)), rescale=False)
        view = layers.attention.view(self.text, torch.float64)
        assert isinstance(view, AttentionView) and isinstance(view.bounds, RowBounds)
        self.layer, self.bounds = view.layer, view.bounds
        if isinstance(self.bounds, SigmoidBounds):
            self.bounds = SigmoidBounds((0.0,))
        self.norm = float(layers.phi.exact(sample).norm())
        self.sizes = None
        if layers.front is not None:
            centred = layers.front.centre(sample.X.to(torch.float64))
            self.sizes = layers.front.size(centred).squeeze(1)
        before = self.layer.phi + (sample.X.to(self.layer.phi) if layers.residual else 0)
        self.around = WrapperContext(self.layer.norm_below, layers.residual and self.sizes is None)
        if layers.outer is not None:
            centred = layers.outer.centre(before)
            sizes = layers.outer.size(centred).squeeze(1)
            errors = torch.zeros_like(sizes)
            self.around = replace(self.around, before=centred, sizes=sizes, errors=errors)

    def claims(self, rows: Sequence[int]) -> Claims:
        """One claim for each row, and the arrays that belong to it."""
        layer, read, r = self.layer, self.layers.read_out, self.radius
        if isinstance(read, int):
            found = certify_row(layer, self.bounds, read, rows, r).upper.tolist()
            for i, move in zip(rows, found, strict=True):
                move += r if self.layers.residual and i == read else 0.0
                yield self._claim(i, move, r), self._one_row(i, read) | self._silence(i, r)
            return
        for i in rows:
            reach = r
            if self.sizes is not None:
                reach = float(longest_move(self.sizes[i], layer.X.shape[1], r)) * RAISED
            solver = solve_mean if read == "mean" else solve
            (one,) = solver(layer, self.bounds, [i], reach, self.around)
            move = one.total / len(layer.X) if read == "mean" else math.sqrt(one.total)
            move += r if self.sizes is not None and self.layers.residual else 0.0
            arrays = self._multipliers(one, reach) | self._silence(i, reach)
            y = layer.directions(i, layer.rows_attending_to(i))
            arrays["axis"] = _array(y.mean(0) if len(y) else layer.X[i])
            yield self._claim(i, move, reach), arrays

    def _claim(self, i: int, move: float, reach: float) -> dict[str, Any]:
        found = {"row": int(i), "upper": move / self.norm * (1 + self.slack)}
        return found | ({} if self.sizes is None else {"reach": reach})

    def _one_row(self, i: int, read: int) -> dict[str, Array]:
        """One row needs no price: its score and β are all that matters, and the verifier halves the
        cells by itself.
        """
        moved = i != read and bool(self.layer.rows_attending_to(i)[read])
        cells = [[lo, hi, 0.0, 1.0, 0.0] for lo, hi in ((-self.radius, 0.0), (0.0, self.radius))]
        axis = _array(self.layer.X[i])
        return {"axis": axis, "cells": np.array(cells), "weights": np.ones(int(moved))}

    def _silence(self, i: int, reach: float) -> dict[str, Array]:
        """How keys are weighted in the bound of a ReLU row."""
        if self.layers.scores != "relu" or not float(self.layer.X[i].norm()) > 0:
            return {}
        return {"silence": _array(silencing_weights(self.layer, i, reach))}

    def _multipliers(self, solved: SolvedDual, r: float) -> dict[str, Array]:
        """Cells of β, in order, with λ, κ and ν; and the weights of the rows."""
        fourth, problem = len(solved.multipliers) > 2, solved.problem
        splits, prices = FINE_SPLITS if fourth else SPLITS, problem.prices
        lo, hi, _ = halved_cells(problem, r, solved.multipliers, splits)
        lo, order = lo.sort()
        hi = hi[order]
        start, end = cells(r, lo)
        # A cell may owe its bound to the multipliers of a cell of which it is a half.
        tuned, best = (
            [torch.zeros_like(lo) for _ in solved.multipliers],
            torch.full_like(lo, math.inf),
        )
        for width in (float(end[0] - start[0]) / 2**level for level in range(splits + 1)):
            whole = (((lo + hi) / 2 + r) / width).floor() * width - r
            at = torch.where(hi - lo < 0.9 * width, whole + width / 2, (lo + hi) / 2)
            parts = [interpolate(at, (start + end) / 2, part) for part in solved.multipliers]
            few = zip(*(part.split(len(start)) for part in (lo, hi, *parts)), strict=True)
            value = torch.cat([Cells(problem, r, a, b).bound(*rest) for a, b, *rest in few])
            tuned = [torch.where(value < best, *both) for both in zip(parts, tuned, strict=True)]
            best = torch.minimum(best, value)
        lam, kappa, *nu = (part.exp() for part in tuned)
        found = {}
        if prices.joined is not None:  # κ is raised to λρ, so that few ρ are needed
            steps = ((kappa / lam).log() / math.log(JOINED)).ceil()
            kappa = lam * JOINED**steps * (1 - 1e-12)
            found["joined"] = _array(JOINED ** steps.unique())
        lo[0], hi[-1] = -r, r
        lo[1:] = hi[:-1]
        table = torch.stack([lo, hi, lam, kappa, nu[0] if nu else torch.zeros_like(lo)], 1)
        rows = problem.rows
        weights = (rows.price_width2 / rows.width2)[:, 0].sqrt().nan_to_num(1.0)
        found |= {"cells": _array(table), "weights": _array(weights)}
        return found | (_fourth(prices.across) if fourth else {})


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
    return {"fourth": _array(v), "tau": np.array([tau])}
