from __future__ import annotations

import pytest
import torch

#: One table of tolerances: relative error allowed between two ways to compute the same thing, per dtype.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-4}


@pytest.fixture(autouse=True)
def _same_threads():
    """Tests of small matrices are faster on one thread, and a test never depends on how many there are."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
