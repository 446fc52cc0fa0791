"""Several losses in one batch."""

from __future__ import annotations

import pytest
import torch

import wordsway as ws
from wordsway.learning.loss import Loss, NegativeLosses

F64 = torch.float64


def naive_loss(loss: Loss, u: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    """The table of the paper's losses."""
    error = (u + a * loss.residual + loss.y) ** 2
    penalised = error + loss.penalty * (u - loss.before) ** 2
    return {"align": (a + 1) ** 2, "direct": error, "penalised": penalised}[loss.name]


LOSSES_SIDE_BY_SIDE = [
    Loss("align", -1.0, 0.7, -1.7),
    Loss("penalised", -1.0, 0.7, -1.7, 0.3),
    Loss("direct", -1.0, 0.7, -1.7, column=2),
    Loss("align", -1.0, 0.7, -1.7, column=2),
]


def texts_in_corners() -> dict[str, tuple[ws.Sample, float]]:
    """Texts, and what to multiply W with: usual, saturated attention, repeated rows, one row."""
    X = ws.Sample.gaussian(n=8, d=16, seed=7)
    same = ws.Sample(X.X[[0, 0, 1, 1, 0, 2, 2, 0]])
    return {
        "usual": (X, 1.0),
        "saturated": (X, 40.0),
        "repeated": (same, 1.0),
        "n = 1": (ws.Sample.gaussian(n=1, d=16, seed=7), 1.0),
    }


@pytest.mark.parametrize("corner", texts_in_corners())
@pytest.mark.parametrize("made", [ws.RAF, ws.ReluRAF, ws.RF])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_losses_side_by_side_are_those_of_the_table_and_do_not_see_each_other(made, dtype, corner):
    X, larger = texts_in_corners()[corner]
    noise = torch.Generator().manual_seed(0)
    if made is ws.RF:
        phi = ws.RF(n=X.n, d=16, k=40, seed=1)
    else:
        phi = made(weight=larger * made(d=16, seed=2).weight)
    view = phi.view(X, dtype)
    thetas = torch.randn(3, phi(X).numel(), dtype=F64, generator=noise)
    look, row, each = view.readout(thetas), X.n - 1, 4
    losses = LOSSES_SIDE_BY_SIDE
    all_of_them = NegativeLosses(look, view, row, losses, 2.0)
    x = torch.randn(len(losses) * each, 16, dtype=dtype, generator=noise)
    which = torch.arange(len(losses)).repeat_interleave(each)
    value, gradient = all_of_them.value_and_gradient(which, x)
    exact = phi.view(X, F64).readout(thetas)
    for number, loss in enumerate(losses):
        own = which == number
        alone = NegativeLosses(look, view, row, [loss], 2.0)
        one, slope = alone.value_and_gradient(which[own] * 0, x[own])
        torch.testing.assert_close(one, value[own])
        torch.testing.assert_close(slope, gradient[own])
        point = x[own].double()
        u, a = exact(torch.full((each,), row), point)[0][:, [0, loss.column]].unbind(1)
        near = 1e-9 if dtype == F64 else 1e-3
        torch.testing.assert_close(
            -one.double(), naive_loss(loss, u, a), rtol=near, atol=near * float(one.abs().max())
        )
        if dtype == F64 and made is ws.RAF:
            for axis in range(16):
                step = torch.zeros(16, dtype=F64)
                step[axis] = 1e-6
                up, down = (
                    alone.value(which[own] * 0, x[own] + sign * step) for sign in (1.0, -1.0)
                )
                near = 1e-5 * float(slope.abs().max()) + 1e-6
                torch.testing.assert_close(slope[:, axis], (up - down) / 2e-6, rtol=1e-4, atol=near)
