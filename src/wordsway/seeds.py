"""Randomness is an argument: every generator is derived from a seed and a path of names.

Two different paths give independent streams; the same path gives the same stream on every machine,
whatever the number of workers, since nothing is ever shared between them.
"""

from __future__ import annotations

import hashlib

import torch


def derive(seed: int, *path: int | str) -> int:
    """A 63-bit seed for the stream named by ``path`` under ``seed``.

    >>> derive(0, "layer", 1) == derive(0, "layer", 1), derive(0, "layer", 1) == derive(0, "layer", 2)
    (True, False)
    """
    digest = hashlib.sha256(repr((int(seed), *path)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, *path: int | str, device: torch.device | str = "cpu") -> torch.Generator:
    """The stream itself, as a torch generator on ``device``."""
    return torch.Generator(device=device).manual_seed(derive(seed, *path))
