"""The fewest small classes without which guarantees of the whole table hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfmask.anonymize._suppressing import smallest_enough
from halfmask.guarantees import AverageRisk, Classes, RecordsAtRisk, SampleUniques


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=30),
    st.sampled_from([0.05, 0.1, 0.2, 0.4]),
    st.integers(0, 60),
)
def test_the_fewest_that_are_enough(sizes, bound, budget):
    """Against every prefix of the classes by size."""
    classes = Classes(np.array(sizes, dtype=np.int64))
    guarantees = [
        AverageRisk(risk=bound),
        SampleUniques(share=bound),
        RecordsAtRisk(share=bound, risk=0.3),
    ]
    missed = [each for each in guarantees if not each.judge(classes).holds]
    order = np.argsort(sizes, kind="stable").tolist()
    expected: list[int] = []
    for n in range(1, len(sizes)):
        left = classes.without(order[:n])
        if sum(sizes[i] for i in order[:n]) > budget:
            break
        if all(each.judge(left).holds for each in missed):
            expected = order[:n]
            break

    if missed:
        assert smallest_enough(classes, missed, max_rows=budget).tolist() == expected
