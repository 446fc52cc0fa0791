"""Many normal numbers at once: those of torch's generator, in two thirds of its time.

torch makes double-precision normals sixteen at a time from uniform numbers u by Box–Muller,

    √(−2 log(1 − u_j)) · (cos 2πu_{j+8}, sin 2πu_{j+8}),    j = 0 … 7,

one number after the other. The same uniforms, taken by whole vectors, are the same normals but for
the last bit.
"""

from __future__ import annotations

import math

import numpy as np
import torch

#: Fewer numbers than this are left to torch.
MANY = 8192
#: Numbers that are worked on at once: what is made of them stays in the cache.
BLOCK = 65536
#: Eight numbers as one thing that is copied.
_EIGHT = "V64"


def fill_normal(out: torch.Tensor, scale: float, noise: torch.Generator) -> torch.Tensor:
    """Fill ``out`` with N(0, scale²), as ``out.normal_(0, scale, generator=noise)`` does.

    >>> noise = torch.Generator().manual_seed(0)
    >>> few = fill_normal(torch.empty(2, 3, dtype=torch.float64), 0.5, noise)
    >>> noise = torch.Generator().manual_seed(0)
    >>> torch.equal(few, 0.5 * torch.randn(2, 3, dtype=torch.float64, generator=noise))
    True
    """
    count = out.numel()
    plain = out.dtype == torch.float64 and out.device.type == "cpu" and out.is_contiguous()
    if count < MANY or count % 16 or not plain:
        return out.normal_(0, scale, generator=noise)
    out.uniform_(0, 1, generator=noise)
    eights = out.flatten().numpy().view(_EIGHT)
    for start in range(0, len(eights), BLOCK // 8):
        some = eights[start : start + BLOCK // 8]
        size = some[0::2].copy().view(np.float64)
        angle = torch.from_numpy(some[1::2].copy().view(np.float64)).mul_(2 * math.pi)
        torch.from_numpy(np.subtract(1, size, out=size)).log_().mul_(-2)
        np.sqrt(size, out=size)
        size *= scale
        for part, way in ((0, angle.cos()), (1, angle.sin_())):
            some[part::2] = way.mul_(torch.from_numpy(size)).numpy().view(_EIGHT)
    return out
