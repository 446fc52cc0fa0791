"""One table of tolerances."""

from __future__ import annotations

import torch

#: Relative error allowed between two ways to compute the same thing, per dtype.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-4}
