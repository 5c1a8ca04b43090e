"""Support files of strangers: read strictly, and no label of theirs is repeated."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import VerificationError
from halfmask.verifier.tables._counting import ClassCells
from halfmask.verifier.tables._support import read_tree
from halfmask.verifier.tables.part import dictionaries, sensitive_values


def values_of(cells):
    frame = pl.LazyFrame({"ill": pl.Series(cells, dtype=pl.String)})
    (known,) = dictionaries(frame, dict(frame.collect_schema())).values()
    return sensitive_values(known, kind="categorical")


@pytest.fixture
def tree(tmp_path):
    def read(text, cells):
        path = tmp_path / "0.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_tree(path, values_of(cells))

    return read


def test_values_take_the_places_of_the_file(tree):
    """The column's own numbers are alphabetical: burn 0, cold 1, flu 2, missing 3."""
    found = tree("flu;lung\ncold;lung\nburn;skin\n", ["burn", "cold", "flu", None])

    assert found.place_of.tolist() == [2, 1, 0, 3]
    # Level 1: lung, lung, skin, and missing by itself; then all under one root.
    assert [level.tolist() for level in found.parents] == [[0, 0, 1, 2], [0, 0, 0]]


def test_a_single_top_takes_missing_in(tree):
    found = tree("flu;*\ncold;*\n", ["cold", "flu", None])

    assert [level.tolist() for level in found.parents] == [[0, 0, 0]]


def test_a_flat_order_gets_a_root(tree):
    assert [level.tolist() for level in tree("flu\ncold\n", ["cold", "flu"]).parents] == [[0, 0]]


def test_cells_are_counted_again_in_the_order_of_the_file(tree):
    found = tree("flu\ncold\n", ["cold", "flu"])

    ordered = found.ordered(ClassCells(np.array([0, 2]), np.array([0, 1]), np.array([5, 3])))

    assert (ordered.values.tolist(), ordered.counts.tolist()) == ([0, 1], [3, 5])


def test_an_apostrophe_before_a_formula_is_looked_through(tree):
    assert tree("=flu\ncold\n", ["'=flu", "cold"]).place_of.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CANARY;a\ncold\n", "rows of different length"),
        ("CANARY\nCANARY\n", "names a value twice"),
        ("cold\n", "lacks 1 values that the data has and names 0"),
        ("cold\nflu\nCANARY\n", "lacks 0 values that the data has and names 1"),
        ("cold;a;x\nflu;a;y\n", "doesn't coarsen"),
        (b"cold\n\xff\n", "isn't a table"),
        ('cold\n"flu', "isn't a table"),
    ],
)
def test_what_is_no_tree_of_the_values_is_refused(tree, text, said):
    with pytest.raises(VerificationError, match=said) as error:
        tree(text, ["cold", "flu"])
    assert "CANARY" not in str(error.value)


def test_one_row_is_not_two_values(tree):
    with pytest.raises(VerificationError, match="one row for two values"):
        tree("=x\n", ["=x", "'=x"])
