"""Maps made of any callable: in-place functions change nothing, broken ones are refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

import wordsway as ws

Function = Callable[[torch.Tensor], torch.Tensor]


def network(inplace: bool) -> torch.nn.Module:
    noise = torch.Generator().manual_seed(0)
    linear = torch.nn.Linear(4, 5, bias=False)
    with torch.no_grad():
        linear.weight.copy_(torch.randn(5, 4, generator=noise))
    return torch.nn.Sequential(torch.nn.ReLU(inplace=inplace), linear).double()


def in_place_and_not() -> list[tuple[Function, Function]]:
    return [
        (network(inplace=True), network(inplace=False)),
        (lambda Z: Z.mul_(2), lambda Z: Z * 2),
        (lambda Z: Z.clamp_(min=0), lambda Z: Z.clamp(min=0)),
    ]


@pytest.mark.parametrize("which", range(3))
def test_functions_that_work_in_place_change_neither_the_text_nor_the_result(which: int) -> None:
    function, twin = in_place_and_not()[which]
    X = ws.Sample.gaussian(3, 4, 0)
    before = X.X.clone()
    plan = ws.Plan(starts=8, rounds=1, steps=20)
    found = ws.sensitivity(ws.FeatureMap.of(function), X, seed=0, plan=plan)
    assert torch.equal(X.X, before)
    assert found.lower == ws.sensitivity(ws.FeatureMap.of(twin), X, seed=0, plan=plan).lower


def test_a_function_that_reuses_its_output_is_measured_like_one_that_does_not() -> None:
    buffer = torch.empty(1, 3, 4, dtype=torch.float64)
    X = ws.Sample.gaussian(3, 4, 1)
    row, delta = torch.tensor([0]), torch.ones(1, 4, dtype=torch.float64)
    view = ws.FeatureMap.of(lambda Z: torch.sin(Z, out=buffer) if len(Z) == 1 else Z.sin()).view(X)
    expected = ws.FeatureMap.of(torch.sin).view(X).value(row, delta)
    assert torch.equal(view.value(row, delta), expected)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda Z: Z * math.nan, "finite features"),
        (lambda Z: Z / 0, "finite features"),
        (lambda Z: torch.log(Z + 5), "finite features"),  # at the text it is finite
        (lambda Z: torch.ones(*Z.shape[:-2], 3, dtype=Z.dtype), "depend on the text"),
        (lambda Z: (0 * Z).sum((-1, -2), keepdim=True) + 2, "depend on the text"),
    ],
)
def test_functions_without_a_sensitivity_are_refused_with_a_remedy(
    function: Function, message: str
) -> None:
    X = ws.Sample(torch.ones(2, 4) + 0.1 * torch.eye(2, 4), rescale=False)
    with pytest.raises(ws.InputError, match=message) as error:
        ws.sensitivity(ws.FeatureMap.of(function), X, radius=8.0)
    assert error.value.remedy


def test_a_numpy_function_is_refused_with_its_remedy() -> None:
    with pytest.raises(ws.InputError, match="use torch functions, not numpy"):
        ws.sensitivity(lambda Z: torch.from_numpy(Z.numpy() ** 2), ws.Sample.gaussian(3, 4, 0))


def test_a_function_that_is_finite_in_the_ball_alone_is_measured() -> None:
    X = ws.Sample(torch.ones(2, 4), rescale=False)
    found = ws.sensitivity(ws.FeatureMap.of(lambda Z: torch.log(Z + 1)), X, radius=0.5)
    assert math.isfinite(found.lower)
    assert found.lower > 0


def test_a_function_of_some_rows_alone_is_not_constant() -> None:
    X = ws.Sample.gaussian(3, 4, 0)
    first = ws.FeatureMap.of(lambda Z: Z[..., 0, :])
    assert ws.sensitivity(first, X, positions=0).lower == pytest.approx(1.0)
    assert ws.sensitivity(first, X, positions=2).lower == 0.0


def broken(kind: str) -> Function:
    if kind == "dropout":
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).train()
    if kind == "noise":
        return lambda Z: Z + torch.randn(Z.shape[-2:], dtype=Z.dtype)
    if kind == "detached":
        return lambda Z: Z.detach() * 2
    return lambda Z: Z.detach().numpy()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("dropout", "eval"),
        ("noise", "once, outside the callable"),
        ("detached", "expected a differentiable map"),
        ("array", "returns a torch tensor, got ndarray"),
    ],
)
def test_callables_without_a_sensitivity_are_refused(kind: str, said: str) -> None:
    with pytest.raises(ws.InputError, match=said):
        ws.sensitivity(ws.FeatureMap.of(broken(kind)), ws.Sample.gaussian(3, 4, 0))


def test_a_bare_callable_is_accepted() -> None:
    X = ws.Sample.gaussian(4, 3, 0)
    assert ws.sensitivity(lambda Z: Z, X, positions=0).lower == pytest.approx(0.5)
