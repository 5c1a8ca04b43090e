"""Groups of rows small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask.assess.risk import Alike


@pytest.fixture
def alike():
    """Ten rows in classes of 1, 2, 2 and 5; 20 people, of whom 2, 4, 5 and 5 look like them."""
    rows = np.array([1, 2, 2, 5])
    return Alike(rows=rows, sample=rows, population=np.array([2, 4, 5, 5]), population_rows=20)


@pytest.fixture
def alone():
    """The same without a population."""
    rows = np.array([1, 2, 2, 5])
    return Alike(rows=rows, sample=rows)
