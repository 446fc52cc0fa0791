"""Randomness is an argument: every generator is derived from a seed and a path of names.

Two different paths give independent streams; the same path gives the same stream on every machine,
whatever the number of workers, since nothing is ever shared between them.
"""

from __future__ import annotations

import hashlib
import operator
from typing import TYPE_CHECKING, Any

from wordsway.core.errors import InputError

if TYPE_CHECKING:
    import torch


def derive(seed: int, *path: int | str) -> int:
    """A 63-bit seed for the stream named by ``path`` under ``seed``.

    >>> derive(0, "layer", 1) == derive(0, "layer", 1)
    True
    >>> derive(0, "layer", 1) == derive(0, "layer", 2)
    False
    """
    digest = hashlib.sha256(repr((check_seed(seed), *path)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, *path: int | str, device: torch.device | str = "cpu") -> torch.Generator:
    """The stream itself, as a torch generator on ``device``."""
    import torch  # a seed alone is checked without it

    return torch.Generator(device=device).manual_seed(derive(seed, *path))


def check_seed(seed: object) -> int:
    """``seed`` as an int (NumPy's whole numbers count), refused where it is not a whole number.

    >>> check_seed(7)
    7
    """
    whole: Any = None if isinstance(seed, bool) else seed
    try:
        return operator.index(whole)
    except TypeError:
        raise InputError("a seed that is a whole number", repr(seed), "pass 0, 1, 2, …") from None
