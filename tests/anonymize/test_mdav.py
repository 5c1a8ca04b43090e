"""Mdav: groups of near rows as classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.anonymize import Anonymizer, Centroid, Mdav, Method, Mondrian
from halfmask.guarantees import (
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    TCloseness,
    measure,
)
from halfmask.kernels.partition import mdav
from halfmask.kernels.partition.mdav import PointColumns, mdav_groups

QUASI = ["age", "town", "pay"]


def people(n, seed):
    rng = np.random.default_rng(seed)
    gone, pay = rng.random(n) < 0.1, rng.integers(0, 5000, n).tolist()
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list("abcdef"), n),
            "pay": [None if no else one for no, one in zip(gone, pay, strict=True)],
            "ill": rng.choice(["no", "flu", "gout", "cold"], n, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


def grouping(*guarantees, **options):
    return Anonymizer(
        guarantees=list(guarantees), method=Mdav(), quasi_identifiers=QUASI, **options
    )


def test_it_is_a_method_that_needs_no_guide():
    assert isinstance(Mdav(), Method)
    assert (Mdav.name, Mdav.needs_guide) == ("mdav", False)
    assert Mdav(block_rows=7).plan_growth(np.ones((3, 1))).block_rows == 7
    with pytest.raises(ParameterError, match="'block_rows' parameter"):
        Mdav(block_rows=0)


def test_cells_of_numbers_are_the_groups_of_mdav():
    """The mask and the method find the same groups, each by its own standardization."""
    rows = np.random.default_rng(0).lognormal(size=(300, 3))
    points = (rows - rows.mean(axis=0)) / rows.std(axis=0)

    cells = Anonymizer(guarantees=[KAnonymity(k=4)], method=Mdav()).fit(rows).cells_
    group = mdav_groups(points, PointColumns.means(3), k=4, block_rows=1000)

    pairs = set(zip(cells.tolist(), group.tolist(), strict=True))
    assert len(pairs) == len(set(cells)) == len(set(group)) == 75


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(40, 200),
    k=st.integers(2, 12),
    more=st.sampled_from(
        [
            (),
            (DistinctLDiversity(l=2, column="ill"),),
            (EntropyLDiversity(l=1.5, column="ill"), DistinctLDiversity(l=3, column="ill")),
            (TCloseness(t=0.3, column="ill"),),
        ]
    ),
)
def test_what_is_written_keeps_every_guarantee(seed, n, k, more):
    """Counted in the recoded table, with no look at cells."""
    frame, guarantees = people(n, seed), (KAnonymity(k=k), *more)

    anonymizer = grouping(*guarantees)
    released = anonymizer.fit_transform(frame)

    found = measure(released, quasi_identifiers=QUASI, guarantees=list(guarantees))
    assert all(judgement.holds for judgement in found)
    sizes = np.bincount(anonymizer.cells_)
    assert sizes.min() >= k
    if not more:
        assert sizes.max() < 2 * k
        assert len(sizes) > n // (2 * k)


def test_new_rows_go_to_the_nearest_centroid():
    rows = np.array([[0.0, 0], [1, 1], [10, 10], [11, 11], [20, 0], [21, 1]])
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=2)], method=Mdav()).fit(rows)

    written = anonymizer.transform(np.array([[0.0, 1], [11, 10], [21, 0], [14, 11], [-50, 0]]))

    assert written.tolist() == [[0.5, 0.5], [10.5, 10.5], [20.5, 0.5], [10.5, 10.5], [0.5, 0.5]]


def test_new_rows_of_mixed_columns_are_placed_in_classes_that_were_released():
    frame = people(300, seed=3)
    anonymizer = grouping(KAnonymity(k=5))
    known = set(anonymizer.fit_transform(frame).select(QUASI).unique().rows())

    assert set(anonymizer.transform(people(50, seed=4)).select(QUASI).rows()) <= known


def test_a_category_that_was_never_seen_has_no_class():
    frame = people(100, seed=5)
    anonymizer = grouping(KAnonymity(k=5), unseen="suppress").fit(frame)
    stranger = frame.head(1).with_columns(town=pl.lit("z"))

    assert anonymizer.transform(stranger).select(QUASI).row(0) == (None, None, None)


def test_fewer_rows_than_2k_are_one_class():
    rows = np.arange(5.0)[:, None]

    assert Anonymizer(guarantees=[KAnonymity(k=3)], method=Mdav()).fit(rows).cells_.max() == 0


def test_groups_that_are_too_small_are_joined_by_the_engine(monkeypatch):
    """A faulty search can't break k: cells are counted, and joined where they miss it."""
    whole = mdav.mdav_groups
    monkeypatch.setattr(mdav, "mdav_groups", lambda *args, k, **more: whole(*args, k=k - 1, **more))
    rows = np.random.default_rng(9).normal(size=(200, 3))

    sizes = np.bincount(Anonymizer(guarantees=[KAnonymity(k=5)], method=Mdav()).fit(rows).cells_)

    assert sizes.min() >= 5
    assert sizes.max() >= 8  # two groups of four


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["Tarragona.csv", "CASCrefmicrodata.csv"])
def test_it_keeps_more_of_reference_data_than_cuts_do(shared_data, name):
    """The squared error within classes; on these data that of Mondrian is nearly twice as large."""
    rows = pl.read_csv(shared_data / "sdc" / name).to_numpy().astype(float)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)

    def error(method):
        grouped = Anonymizer(guarantees=[KAnonymity(k=3)], method=method).fit_transform(rows)
        return ((grouped - rows) ** 2).sum()

    assert error(Mdav()) < 0.6 * error(Mondrian())


def test_centroid_is_a_recoding_for_it():
    rows = np.array([[0.0], [2.0], [10.0], [14.0]])
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=2)], method=Mdav(), recoding=Centroid())

    assert anonymizer.fit_transform(rows).ravel().tolist() == [1.0, 1.0, 12.0, 12.0]
