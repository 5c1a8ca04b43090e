"""The budget of `make sizes`: what is over is an error, and no limit is raised by itself."""

from __future__ import annotations

import ast


def test_what_is_over_its_limit_is_named(sizes):
    values = {"house": {"casts": 3, "lines": 10}, "lines": {"new": 1, "old": 5}}

    assert sizes.over(values, {"house": {"casts": 2, "lines": 10}, "lines": {"old": 6}}) == [
        "house: casts is 3, and its limit 2.",
        "lines: new is 1, and its limit 0.",
    ]


def test_limits_are_lowered_and_never_raised(sizes):
    values = {"lines": {"cut": 4, "grown": 9, "new": 1}}

    lowered = sizes.lowered(values, {"lines": {"cut": 5, "gone": 7, "grown": 8}})

    assert lowered == {"lines": {"cut": 4, "grown": 8, "new": 1}}


def test_only_names_of_other_rooms_private_modules_are_counted(sizes):
    imports = """
from halfmask.data import open_table
from halfmask.data.io._source import Source
from halfmask.masks._mask import Mask
from halfmask._errors import DataError
from halfmask.kernels.text.scan import find
"""
    trees = {"halfmask.masks._noise": ast.parse(imports)}

    assert sizes.private_imports(trees) == {("halfmask.data.io._source", "Source")}
