"""Test dimensions from files and policies, and keys and equations of many cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import HierarchyError
from halfmask.crosstabs import CodeSum, Dimension, TablesPolicy, read_hrc
from halfmask.crosstabs._cells import build_equations, row_keys
from halfmask.crosstabs._dimension import flat_dimension
from halfmask.crosstabs._hierarchies import read_tree
from halfmask.crosstabs._opening import open_cells

HRC = "north.west\n@oslo\n@NA\n@@sub 1\n@@sub 2\nsouth\n"


def test_a_file_of_tau_argus_is_a_tree(tmp_path):
    path = tmp_path / "region.hrc"
    path.write_text(HRC)
    found = read_hrc(path, name="region")
    assert found.codes == ("Total", "north.west", "oslo", "NA", "sub 1", "sub 2", "south")
    assert found.leaves == ("oslo", "sub 1", "sub 2", "south")
    assert found.covers["north.west"] == {"oslo", "sub 1", "sub 2"}
    path.write_text(HRC.replace("@", "  "))
    with pytest.raises(HierarchyError, match="skips a level"):
        read_hrc(path, name="region", indent=" ")
    path.write_bytes(HRC.replace("oslo", "bodø").replace("@", " ").encode("cp1252"))
    codes = read_hrc(path, name="region", indent=" ", encoding="cp1252", total="all").codes
    assert codes[:3] == ("all", "north.west", "bodø")
    with pytest.raises(HierarchyError, match="is not in utf-8"):
        read_hrc(path, name="region")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n@b\n@@@c\n", "Line 3 .* skips a level"),
        ("a\n@\n", "Line 2 .* has no code"),
        ("a\n  b\n", "Line 2 .* starts with a blank"),
        ("a\n\tb\n", "Line 2 .* starts with a blank"),
        ("\n\n", "has no codes"),
        ("a\n@x\nb\n@x\n", "1 codes .* lie under two others"),
    ],
)
def test_files_of_tau_argus_that_are_no_tree_are_refused(tmp_path, text, words):
    path = tmp_path / "region.hrc"
    path.write_text(text)
    with pytest.raises(HierarchyError, match=words):
        read_hrc(path, name="region")
    with pytest.raises(HierarchyError, match="can't be read"):
        read_hrc(tmp_path / "none.hrc", name="region")


@pytest.mark.parametrize(
    "text",
    [
        "land,town\nn,a\nn,b\ns,NA\n",
        'land;town\n"n";"a"\nn;b\ns;NA\n',
        "a;n;*\nb;n;*\nNA;s;*\n",
        "a,n\nb,n\nNA,s\n",
    ],
)
def test_a_tree_is_read_from_either_end(tmp_path, text):
    path = tmp_path / "town.csv"
    path.write_text(text)
    found = read_tree(path, name="town", total="all")
    assert found.codes == ("all", "n", "a", "b", "s", "NA")


def test_levels_with_one_child_and_short_paths_add_no_code(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("land,part,town\nn,n,a\nn,n,b\ns,s,s\nw,w1,\n")
    found = read_tree(path, name="town", total="all")
    assert found.codes == ("all", "n", "a", "b", "s", "w", "w1")
    path.write_text("land,part,town\nn,,a\nn,n,b\ns,s,c\n")
    with pytest.raises(HierarchyError, match=r"Line 2 .* empty field"):
        read_tree(path, name="town", total="all")
    path.write_text("land,town\nn,a\nn\n")
    with pytest.raises(HierarchyError, match="different lengths"):
        read_tree(path, name="town", total="all")


def test_microdata_with_a_hierarchy_of_a_file(tmp_path):
    (tmp_path / "town.hrc").write_text("n\n@a\n@b\ns\n")
    (tmp_path / "policy.toml").write_text(
        'halfmask-tables = 1\n[dimensions.town]\nhierarchy = "town.hrc"\n'
        '[[tables]]\nname = "t"\ndimensions = ["town"]\n'
    )
    rows = pl.DataFrame({"town": ["a", "a", "s"]})
    (cells,) = open_cells(rows, TablesPolicy.load(tmp_path / "policy.toml"))
    labels = cells.labels(np.arange(cells.n), ["town"])["town"].to_list()
    assert dict(zip(labels, cells.value.tolist(), strict=True)) == {
        "Total": 3,
        "n": 2,
        "a": 2,
        "s": 1,
    }


def test_golden_sums_that_overlap():
    """Input of rooms-to-build, G3: counties and sizes over one list of municipalities."""
    people = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    rows = pl.DataFrame({"town": [code for code, n in people.items() for _ in range(n)]})
    policy = TablesPolicy.from_toml(
        'halfmask-tables = 1\n[[tables]]\nname = "t"\ndimensions = ["town"]\n'
        '[dimensions.town.sums]\ncounty-1 = ["A", "B", "I", "J"]\n'
        'county-2 = ["K", "L", "M", "N"]\nbig = ["L", "M"]\n'
        'small = ["A", "B", "I", "J", "K", "N"]\n'
    )
    (cells,) = open_cells(rows, policy)
    found = dict(zip(cells.dimensions[0].codes, cells.value.tolist(), strict=True))
    assert found["county-1"], found["county-2"] == (20, 16)
    assert (found["big"], found["small"], found["Total"]) == (6, 30, 36)
    assert cells.equations.shape == (5, 13)


TREE = Dimension(
    name="a",
    codes=("all", "x", "x1", "x2", "y", "even"),
    sums=(
        CodeSum("all", ("x", "y")),
        CodeSum("x", ("x1", "x2")),
        CodeSum("even", ("x2", "y")),
        CodeSum("all", ("x1", "even")),
    ),
    total="all",
)


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1))
def test_equations_are_those_that_a_loop_finds(cells):
    dimensions = (TREE, flat_dimension("b", ["p", "q", "r"]))
    codes = sorted(cells)
    place = {each: at for at, each in enumerate(codes)}
    wanted = set()
    for at, dimension in enumerate(dimensions):
        for each, code in product(dimension.sums, codes):
            if dimension.codes[code[at]] != each.total:
                continue
            parts = [
                place.get(
                    tuple(
                        dimension.position[part] if i == at else one for i, one in enumerate(code)
                    )
                )
                for part in each.parts
            ]
            there = tuple(sorted(part for part in parts if part is not None))
            if there:
                wanted.add((place[code], there))
    made = build_equations(np.array(codes, dtype=np.int32), dimensions)
    rows = [made[[row]].tocoo() for row in range(made.shape[0])]
    found = [
        (
            int(row.coords[1][row.data < 0][0]),
            tuple(sorted(row.coords[1][row.data > 0].tolist())),
        )
        for row in rows
    ]
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert [total for total, _ in found] == sorted(total for total, _ in found)


def test_keys_of_many_dimensions_do_not_overflow():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1000, (200, 10)).astype(np.int32)
    codes[100:] = codes[:100]
    keys = row_keys(codes, [1000] * 10)
    assert len(np.unique(keys)) == 100
    np.testing.assert_array_equal(keys[:100], keys[100:])
    in_order = sorted(range(100), key=lambda row: codes[row].tolist())
    np.testing.assert_array_equal(np.argsort(keys[:100]), in_order)
