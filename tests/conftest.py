from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _same_threads():
    """Tests of small matrices are faster on one thread, and a test never depends on how many there
    are.
    """
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
