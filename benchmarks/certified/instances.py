"""Random instances of every kind that has a certificate, and small changes of them."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch

import wordsway as ws
from wordsway.maps.block import NormedText
from wordsway.maps.wrappers import Norm, NormedMap, ReadOut, Residual

MOST_ROWS, MOST_WIDTH = 16, 8
SOFT = ("softmax", "softmax-1/d", "softmax-log-n", "sink")
ONE_MATRIX = (*SOFT, "sigmoid", "sparsemax", "relu", "relu/n", "linear/n")
HEADS = (*SOFT, "l2", "qk-norm", "differential")
AROUND = ("plain", "residual", "normed", "normed residual", "norm in front")
READ = ("row", "mean", "row of residual", "mean of residual", "row of normed")
WRAPPERS = (*AROUND, "residual, norm in front", *READ)
ACTIVATIONS = ("relu", "relu", "tanh", "sigmoid", "gelu", "identity")


@dataclass(frozen=True)
class Instance:
    """A map by its options and weights, a text, the word that moves and the radius."""

    kind: str  # "attention", "rf" or "drf"
    options: dict[str, Any]
    weights: dict[str, torch.Tensor]
    wrapper: str
    wrapping: dict[str, Any]
    X: torch.Tensor
    i: int
    radius: float

    @property
    def name(self) -> str:
        """The kind of certificate that it tries."""
        inside = self.options.get("scores", self.options.get("activation", ""))
        heads = " heads" if self.options.get("heads") else ""
        return f"{self.kind} {inside}{heads}, {self.wrapper}"

    def map(self) -> ws.FeatureMap:
        """The map itself."""
        if self.kind != "attention":
            given = [self.weights[name] for name in sorted(self.weights)]
            how = {"n": len(self.X), **self.options}
            return (
                ws.RF(weight=given[0], **how) if len(given) == 1 else ws.DRF(weights=given, **how)
            )
        phi: ws.FeatureMap = ws.Attention(weights=self.weights, **self.options)
        norm = Norm(self.wrapping["norm"], self.wrapping["epsilon"])
        if "in front" in self.wrapper:
            phi = NormedText(phi, norm)
        if "residual" in self.wrapper:
            phi = Residual(phi)
        if "normed" in self.wrapper:
            phi = NormedMap(phi, norm)
        if "row" in self.wrapper:
            phi = ReadOut(phi, self.wrapping["row"])
        return ReadOut(phi, "mean") if "mean" in self.wrapper else phi

    def sample(self) -> ws.Sample:
        return ws.Sample(self.X, rescale=False)


def draw(chance: random.Random) -> Instance:
    """A random instance."""
    noise = torch.Generator().manual_seed(chance.randrange(2**31))
    d = chance.choice([1, 2, 2, 3, 4, 6, 8])
    n = chance.choice([1, 2, 2, 3, 4, 8, 16])
    kind = chance.choice(["attention"] * 6 + ["rf", "drf"])
    wrapping = {
        "norm": chance.choice(["layer", "rms"]),
        "epsilon": chance.choice([0.0, 0.0, 1e-5, 1e-2]),
        "row": chance.randrange(n),
    }
    if kind != "attention":
        k = chance.choice([1, 2, 5, 9])
        sizes = [n * d, *([k] * (1 if kind == "rf" else chance.choice([2, 3])))]
        weights = {
            f"V{number}": _scaled(chance, _normal(noise, after, before) / math.sqrt(before))
            for number, (before, after) in enumerate(pairwise(sizes))
        }
        X = _text(chance, noise, n, d)
        if chance.random() < 0.3:
            _cancel(chance, weights["V0"], X)
        options: dict[str, Any] = {"activation": chance.choice(ACTIVATIONS)}
        return Instance(
            kind, options, weights, "plain", wrapping, X, chance.randrange(n), _radius(chance, X)
        )
    heads = chance.choice([None, None, 1, 2])
    scores = chance.choice(ONE_MATRIX if heads is None else HEADS)
    if heads == 2 or chance.random() < 0.2:
        d = chance.choice([4, 8])
    options = {"scores": scores, "heads": heads, "mask": chance.choice(["none", "none", "causal"])}
    if chance.random() < 0.25:
        options |= {"mask": "window", "window": chance.randint(1, n)}
    elif chance.random() < 0.2:
        options |= {"mask": "padding", "visible": chance.randint(1, n)}
    positions = ["none", "none", "none", "sinusoidal"]
    positions += ["rope"] if heads and d % (2 * heads) == 0 else []
    positions += ["alibi"] if scores not in ("relu", "relu/n", "linear/n") else []
    options["positions"] = chance.choice(positions)
    options["temperature"] = chance.choice([1.0, 1.0, 0.1, 0.01, 10.0])
    drawn = ws.Attention(d, chance.randrange(2**31), **options)
    weights = {name: _scaled(chance, value.clone()) for name, value in drawn.given.items()}
    X = _text(chance, noise, n, d)
    wrapper = chance.choice(WRAPPERS)
    return Instance(
        kind, options, weights, wrapper, wrapping, X, chance.randrange(n), _radius(chance, X)
    )


def changed(instance: Instance, chance: random.Random) -> Instance:
    """The same kind with other numbers, near or not so near."""
    noise = torch.Generator().manual_seed(chance.randrange(2**31))
    size = 10.0 ** -chance.choice([0.5, 1, 1, 2, 4, 8])

    def moved(part: torch.Tensor) -> torch.Tensor:
        if chance.random() < 0.5:
            return part
        scale = float(part.norm()) / math.sqrt(part.numel())
        return part + size * scale * _normal(noise, *part.shape)

    weights = {name: moved(part) for name, part in instance.weights.items()}
    X = moved(instance.X)
    if chance.random() < 0.2:
        weights = {name: part * 2.0 ** chance.choice([-1, 1]) for name, part in weights.items()}
    radius = instance.radius * chance.choice([1, 1, 1, 0.9, 1.1, 0.5, 2])
    return replace(instance, weights=weights, X=X, radius=radius)


def _normal(noise: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=noise)


def _scaled(chance: random.Random, W: torch.Tensor) -> torch.Tensor:
    return W * chance.choice([0.1, 1.0, 1.0, 1.0, 3.0, 10.0, 100.0])


def _text(chance: random.Random, noise: torch.Generator, n: int, d: int) -> torch.Tensor:
    """Rows of norm √d, or unlike any text: repeated, parallel, long and short, small integers."""
    X = _normal(noise, n, d)
    kind = chance.choice(["usual"] * 4 + ["repeated", "parallel", "lengths", "whole", "opposite"])
    if kind == "repeated":
        X = X[:1].expand(n, d).clone()
    elif kind == "parallel":
        X = X[:1] + 10.0 ** -chance.choice([2, 6, 10]) * X
    elif kind == "whole":
        X = X.mul(2).round()
        X[X.norm(dim=1) == 0, 0] = 1
    elif kind == "opposite" and n > 1:
        X[-1] = -X[:-1].sum(0) * (1 - 10.0 ** -chance.choice([1, 4, 8, 12]))
    if kind == "lengths":
        return X * 10.0 ** (2 * _normal(noise, n, 1)).clamp(-3, 3)
    return X if kind in ("whole", "opposite") else X * math.sqrt(d) / X.norm(dim=1, keepdim=True)


def _cancel(chance: random.Random, V: torch.Tensor, X: torch.Tensor) -> None:
    """Make the first neuron's sum nearly zero, and positive."""
    flat = X.view(-1)
    last = float(V[0, -1])
    if len(flat) > 1 and last != 0:
        rest = float(V[0, :-1] @ flat[:-1])
        flat[-1] = -rest / last * (1 - math.copysign(10.0 ** -chance.choice([3, 6, 9, 13]), rest))


def _radius(chance: random.Random, X: torch.Tensor) -> float:
    root = math.sqrt(X.shape[1])
    return chance.choice([root, root, root, 0.1, 1e-3, 5.0, float(X.norm(dim=1).max())])
