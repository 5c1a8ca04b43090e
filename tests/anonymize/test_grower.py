from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.anonymize import _grower
from halfmask.anonymize._growth import GrowthPlan, grow_partition
from halfmask.anonymize._sensitive_codes import SensitiveCodes
from halfmask.guarantees import DistinctLDiversity, KAnonymity


def _grown(codes, guarantees, guides, ill):
    n_codes = [int(column.max()) + 1 for column in codes]
    return grow_partition(
        codes,
        n_codes,
        [np.zeros(n - 1, dtype=np.uint8) for n in n_codes],
        sensitive=[SensitiveCodes(name="ill", order=("0", "1", "2"), n_values=3, codes=ill)],
        guarantees=guarantees,
        plan=GrowthPlan(guides=guides),
    )


@given(st.integers(0, 10_000), st.integers(50, 600), st.integers(1, 6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_branches_in_threads_give_the_cells_of_one_thread(seed, n, k, guided):
    draw = np.random.default_rng(seed)
    codes = [draw.integers(0, high, n) for high in (40, 7, 300)]
    ill = draw.integers(0, 3, n)
    guides = draw.integers(0, 2, (n, 1)).astype(float) if guided else None
    guarantees = [KAnonymity(k=k), DistinctLDiversity(l=1, column="ill")]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_grower, "PARALLEL_ROWS", 10_000)
        alone, cells_alone = _grown(codes, guarantees, guides, ill)
        patch.setattr(_grower, "PARALLEL_ROWS", 1)
        patch.setattr(_grower, "worker_count", lambda: 2)
        shared, cells_shared = _grown(codes, guarantees, guides, ill)

    np.testing.assert_array_equal(cells_alone, cells_shared)
    for name in ("low", "high", "sizes"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(shared, name))
    np.testing.assert_array_equal(cells_shared, shared.cells_of(codes))
    parents = np.flatnonzero(shared.feature >= 0)
    assert (shared.left[parents] > parents).all()
    assert (shared.right[parents] > parents).all()


def test_a_grower_shows_sizes_and_no_values():
    draw = np.random.default_rng(0)
    codes = [draw.integers(0, 9, 50)]
    seen = []
    original = _grower.Grower.partition

    def partition(self, cell_of_row):
        seen.append(repr(self))
        return original(self, cell_of_row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_grower.Grower, "partition", partition)
        _grown(codes, [KAnonymity(k=3)], None, draw.integers(0, 3, 50))

    assert seen == ["Grower(50 rows, k=3)"]
