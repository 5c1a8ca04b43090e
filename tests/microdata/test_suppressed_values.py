"""No published number tells of a value that only suppressed people had."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from halfmask.microdata import Policy, Release, protect

KEY = bytes(range(32))


def _released(ages: list[int], *, recoding: str, hierarchy: object = None) -> Release[Any]:
    """Protect people of these ages, the last of whom is suppressed for a missing cell."""
    rng = random.Random(3)
    n = len(ages)
    table = pl.DataFrame(
        {
            "age": ages,
            "town": [*(rng.choice("ab") for _ in range(n - 1)), "far away"],
            "answer": [*("yes" for _ in range(n - 1)), None],
        }
    )
    age = {"role": "quasi_identifier", "kind": "numeric"}
    policy = Policy(
        halfmask=1,
        columns={
            "age": age if hierarchy is None else {**age, "hierarchy": hierarchy},
            "town": {"role": "quasi_identifier", "kind": "categorical"},
            "answer": {"role": "insensitive", "kind": "categorical", "missing": "suppress"},
        },
        guarantees=[{"model": "k-anonymity", "k": 5}],
        method={"name": "mondrian"},
        recoding={"name": recoding},
    )
    release = protect(table, policy, key=KEY)
    assert release.rows["suppressed"] == 1
    return release


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("recoding", "hierarchy"),
    [
        ("ranges", None),
        ("level", None),
        ("centroid", None),
        ("level", {"intervals": [10, 1000]}),
        ("level", {"intervals": [50, 1000]}),
    ],
)
@pytest.mark.parametrize("extreme", [97, 98, 987])
def test_the_extreme_of_a_suppressed_person_changes_no_number(recoding, hierarchy, extreme):
    """Loss relative to the raw width would give it away to the last digit: NCP times width."""
    rng = random.Random(2)
    ages = [rng.randrange(20, 90) for _ in range(120)]

    ordinary = _released([*ages, 50], recoding=recoding, hierarchy=hierarchy)
    special = _released([*ages, extreme], recoding=recoding, hierarchy=hierarchy)

    first, second = (each.data.sort(pl.all()) for each in (ordinary, special))
    if first.equals(second):  # the same release: what is said of it must be the same
        assert special.utility.loss == ordinary.utility.loss
    pictured = special.utility.distributions["age"].labels
    assert not any(str(extreme) in label for label in pictured)
    held = [row["age"] for row in special.data.to_dicts()]
    if recoding == "ranges":
        ends = [[int(end) for end in label.strip("[]").split(", ")] for label in held]
        lost = sum(each[-1] - each[0] for each in ends)
        loss = special.utility.loss.columns["age"].ncp * (len(held) + 1) - 1
        widest = max(each[-1] for each in ends) - min(each[0] for each in ends)
        assert lost / loss == pytest.approx(widest)
