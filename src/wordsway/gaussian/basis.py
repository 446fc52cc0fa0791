"""An orthonormal basis that grows: block Gram–Schmidt, twice, with rank detection, in preallocated
rows.
"""

from __future__ import annotations

import torch

#: A direction counts as new if its residual after projection exceeds this many rounding errors.
ROUNDING_ERRORS = 200.0
#: Where projection leaves more than this share of a vector, once is enough.
KEPT = 0.7
#: Vectors orthonormalised at a time: large enough for matrix products, small enough for a cheap
#: inner QR.
CHUNK = 64


class Rows:
    """Rows in storage that is allocated beforehand, and doubled where it is exceeded."""

    def __init__(self, dim: int, *, dtype: torch.dtype, device: torch.device) -> None:
        self.dim = dim
        self._store = torch.empty(0, dim, dtype=dtype, device=device)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def rows(self) -> torch.Tensor:
        """A view of the rows in use (rank × dim)."""
        return self._store[: self._used]

    def reserve(self, extra: int) -> None:
        """Reserve space for ``extra`` more rows; untouched rows cost address space, not memory."""
        needed = self._used + extra
        if needed > self._store.shape[0]:
            store = torch.empty(
                max(needed, 2 * len(self._store)),
                self.dim,
                dtype=self._store.dtype,
                device=self._store.device,
            )
            store[: self._used] = self.rows
            self._store = store

    def append(self, rows: torch.Tensor) -> None:
        self.add(rows.shape[0]).copy_(rows)

    def add(self, count: int) -> torch.Tensor:
        """``count`` more rows, for the caller to fill."""
        self.reserve(count)
        self._used += count
        return self.rows[self._used - count :]


class Basis(Rows):
    """Orthonormal rows q_1 … q_r of ℝ^dim.

    ``extend(H)`` adds the directions that the rows of H have beyond the span and beyond rounding:
    a repeated query adds nothing.

    >>> basis = Basis(3, dtype=torch.float64, device=torch.device("cpu"))
    >>> H = torch.tensor([[2.0, 0, 0], [4.0, 0, 0], [1.0, 1.0, 0]], dtype=torch.float64)
    >>> len(basis.extend(H))
    2
    >>> basis.complete, len(basis)
    (False, 2)
    """

    @property
    def complete(self) -> bool:
        """Whether the rows span the whole space."""
        return len(self) == self.dim

    def extend(self, H: torch.Tensor) -> torch.Tensor:
        """Add the new directions of the rows of H; return the orthonormal rows that were added."""
        start = len(self)
        for part in H.split(min(CHUNK, self.dim)):
            if self.complete:
                break
            self._extend(part)
        return self.rows[start:]

    def coordinates(self, h: torch.Tensor) -> torch.Tensor:
        """A single row h (1, dim) as c·rows, c (1, rank), after adding its new direction: its
        products with a long basis are computed once.

        >>> basis = Basis(3, dtype=torch.float64, device=torch.device("cpu"))
        >>> basis.coordinates(torch.tensor([[0.0, 3.0, 0.0]], dtype=torch.float64)).tolist()
        [[3.0]]
        >>> basis.coordinates(torch.tensor([[4.0, 1.0, 0.0]], dtype=torch.float64)).tolist()
        [[1.0, 4.0]]
        """
        if self.complete:
            return h @ self.rows.T
        rows = self.rows
        q = self.add(1)
        self._used -= 1  # not yet: it may be nothing new
        c = h @ rows.T
        torch.addmm(h, c, rows, alpha=-1, out=q) if len(rows) else q.copy_(h)
        size = float(q.norm())
        if not size > ROUNDING_ERRORS * torch.finfo(h.dtype).eps * float(h.norm()):
            return c
        if len(rows) and size < KEPT * float(h.norm()):
            # The second pass of Gram–Schmidt, as in `_extend`: what is left of most of h is
            # orthogonal to rounding already.
            again = q @ rows.T
            q.addmm_(again, rows, alpha=-1)
            c = c + again
            before, size = size, float(q.norm())
            if size < 0.5 * before:
                return c
        q.div_(size)
        self._used += 1
        return torch.cat([c, c.new_full((1, 1), size)], 1)

    def _extend(self, H: torch.Tensor) -> None:
        tolerance = ROUNDING_ERRORS * torch.finfo(H.dtype).eps * H.norm(dim=1)
        while len(H) and not self.complete:
            residual = self._project_out(H)
            new = residual.norm(dim=1) > tolerance
            H, residual, tolerance = H[new], residual[new], tolerance[new]
            if not len(H):
                return
            # The QR keeps the order of the queries, so a small diagonal entry marks one in the span
            # of those before it. The direction it made up for that one is arbitrary: stop there,
            # and let the rest start over against a larger basis.
            Q, R = _qr(residual)
            dependent = (R.abs() <= tolerance[: len(R)]).nonzero()
            fresh = int(dependent[0]) if len(dependent) else len(R)
            # One pass more on unit vectors: Gram–Schmidt twice is enough, whatever the cancellation
            # in the first pass. A unit vector that loses more than half its length was rounding
            # error inside the span, not a direction.
            Q = self._project_out(Q[:fresh])
            noise = (Q.norm(dim=1) < 0.5).nonzero()
            fresh = int(noise[0]) if len(noise) else fresh
            if fresh:
                self.append(_qr(Q[:fresh])[0][: self.dim - len(self)])
            H, tolerance = H[fresh + 1 :], tolerance[fresh + 1 :]

    def _project_out(self, H: torch.Tensor) -> torch.Tensor:
        rows = self.rows
        return H - (H @ rows.T) @ rows if self._used else H


def _qr(H: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Orthonormal rows Q that span the rows of H in order, and the diagonal of R."""
    if len(H) == 1:
        size = H.norm(dim=1)
        return H / size.clamp_min(torch.finfo(H.dtype).tiny), size
    Q, R = torch.linalg.qr(H.T)
    return Q.T, R.diagonal()
