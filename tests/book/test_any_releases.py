"""Any releases of any people: what the book refuses is what a count by sets says is weaker."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from book.independent_count import (  # type: ignore[import-not-found] # beside, not in a package
    count_l,
    count_t,
    join_groups,
)
from halfmask import GuaranteeNotMetError, protect
from halfmask.book import ReleaseBook
from halfmask.microdata import Policy
from halfmask.vault import KeyFile, Vault

if TYPE_CHECKING:
    from book.independent_count import People

COLUMNS: dict[str, dict[str, Any]] = {
    "row": {"role": "insensitive", "kind": "numeric"},
    "who": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "numeric"},
    "town": {"role": "quasi_identifier", "kind": "categorical"},
    "ill": {"role": "sensitive", "kind": "categorical"},
}
QUASI = ("age", "town")


def policy(**sections: Any) -> Policy:
    return Policy(
        halfmask=1,
        person="who",
        columns=COLUMNS,
        guarantees=[{"model": "k-anonymity", "k": 2}],
        output={"format": "csv"},
        **sections,
    )


def table(rng: random.Random, number: int) -> pl.DataFrame:
    """Return the rows of some of thirty people, who rarely move; some have two rows."""
    here = [who for who in range(30) for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2)))]
    moved = [who for who in range(30) if rng.random() < 0.1]
    return pl.DataFrame(
        {
            "row": range(100 * number, 100 * number + len(here)),
            "who": [f"person {who}" for who in here],
            "age": [20 + who // 6 * 10 for who in here],
            "town": ["a" if (who in moved) != (who % 2 == 0) else "b" for who in here],
            "ill": [rng.choice("xyz") for _ in here],
        }
    )


def is_weaker(before: list[People], after: list[People], floor: dict[str, Any]) -> bool:
    """Return whether a group is below the floor that is new, smaller or weaker by the last one."""
    old = {who: group for group in join_groups(before).values() for who in group} if before else {}
    for group in join_groups(after).values():
        earlier = old.get(next(iter(group)), set())
        smaller = len(group) < len(earlier) or not earlier
        if smaller and len(group) < floor.get("min_k", 0):
            return True
        now = count_l(after, [group]), count_t(after, [group])
        then = (count_l(before, [earlier]), count_t(before, [earlier])) if earlier else (99, 0.0)
        if now[0] < floor.get("min_l", 0) and (smaller or now[0] < then[0]):
            return True
        if now[1] > floor.get("max_t", 1) and (smaller or now[1] > then[1]):
            return True
    return False


def classed(released: pl.DataFrame, rows: pl.DataFrame) -> People:
    """Return class and value of the rows of each person, as they are released."""
    whose = dict(rows.select("row", "who").iter_rows())
    people: defaultdict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for row, age, town, ill in released.select("row", *QUASI, "ill").iter_rows():
        people[whose[row]].append(((age, town), ill))
    return people


FLOORS: tuple[dict[str, Any], ...] = (
    {"min_k": 2},
    {"min_k": 3},
    {"min_l": 2},
    {"max_t": 0.6},
    {"min_k": 2, "min_l": 2},
)


@pytest.mark.slow
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), floor=st.sampled_from(FLOORS))
def test_a_release_is_refused_just_where_a_group_gets_weaker(seed, floor):
    rng = random.Random(seed)
    left: list[People] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        vault = Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
        ReleaseBook.create(vault, dataset="people")
        for number in range(3):
            rows = table(rng, number)
            accepted = rng.random() < 0.3
            book = {"dataset": "people", "receiver": "all", **floor}
            if accepted:
                book |= {"accepted_by": "Ann", "reason": "The receiver has all of it already."}
            made = protect(rows, policy(book=book), vault=vault)
            new = classed(made.data, rows)
            weaker = is_weaker(left, [*left, new], floor)
            try:
                made.write(folder / f"{number}")
            except GuaranteeNotMetError:
                assert weaker
                assert not accepted
                assert not (folder / f"{number}").exists()
                continue
            assert accepted or not weaker
            left.append(new)
        booked = ReleaseBook.open(vault, dataset="people").releases()
        assert [each.state for each in booked] == ["left"] * len(left)
