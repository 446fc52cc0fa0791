"""Sensitivity of functions of n bits, exactly: by position, by input, and on average.

For f: {−1, 1}ⁿ → ℝ the sensitivity at an input x is Σ_i ((f(x) − f(x with bit i flipped))/2)² (the
number of pivotal bits where f is ±1), the influence of bit i is the mean of its term over all
inputs, and the average sensitivity (total influence) is the mean over inputs of the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from wordsway.core.checks import Count, validated
from wordsway.core.errors import InputError

MOST_BITS = 16


@dataclass(frozen=True)
class BooleanSensitivity:
    """``average`` sensitivity, the largest one and an input ``at`` which it is attained,
    ``influences`` of the n bits, and the ``profile``: the sensitivity of each of the 2ⁿ inputs, in
    the order of their numbers (bit 0 is the first position; 0 stands for −1).
    """

    average: float
    most: float
    at: torch.Tensor
    influences: torch.Tensor
    profile: torch.Tensor


@validated
def boolean_sensitivity(f: Callable[[torch.Tensor], torch.Tensor], n: Count) -> BooleanSensitivity:
    """The sensitivity of f, a function of inputs (2ⁿ, n) with entries ±1 to 2ⁿ numbers.

    Parity notices every bit, the majority of three has sensitivity 2 where the bits disagree:

    >>> boolean_sensitivity(lambda x: x.prod(1), 5).average
    5.0
    >>> boolean_sensitivity(lambda x: x.sum(1).sign(), 3).profile.tolist()
    [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]
    """
    if n > MOST_BITS:
        raise InputError(f"between 1 and {MOST_BITS} bits", n, "sample inputs for longer ones")
    numbers = torch.arange(2**n)
    bits = (numbers[:, None] >> torch.arange(n)) & 1
    inputs = (2 * bits - 1).to(torch.float64)
    value = f(inputs)
    if not isinstance(value, torch.Tensor) or value.numel() != 2**n:
        raise InputError(
            f"a function from ({2**n}, {n}) inputs to {2**n} numbers",
            f"shape {tuple(getattr(value, 'shape', ()))}",
            "return one number per input",
        )
    value = value.detach().to(torch.float64).reshape(-1)
    if not bool(value.isfinite().all()):
        raise InputError("finite values", "NaN or infinity", "guard the function")
    turned = torch.stack([value[numbers ^ (1 << bit)] for bit in range(n)], 1)
    terms = ((value[:, None] - turned) / 2) ** 2
    profile = terms.sum(1)
    top = int(profile.argmax())
    average = math.fsum(profile.tolist()) / 2**n
    return BooleanSensitivity(average, float(profile[top]), inputs[top], terms.mean(0), profile)
