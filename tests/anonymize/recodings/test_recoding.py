"""What every recoding promises: one value a cell, and values of nobody who doesn't leave."""

from __future__ import annotations

import pytest

from halfmask.anonymize import Centroid, Level, Ranges, Recoding, Representative
from halfmask.claims import WEAKNESSES

ALL: list[Recoding] = [Ranges(), Level(), Centroid(), Centroid(numeric="median"), Representative()]


@pytest.mark.parametrize("recoding", ALL, ids=repr)
class TestEveryRecoding:
    def test_has_a_name_and_explained_weaknesses(self, recoding):
        assert isinstance(recoding, Recoding)
        assert set(recoding.weaknesses) <= set(WEAKNESSES)

    def test_writes_one_value_a_cell_under_the_column_s_name(self, recoding, write):
        written = write(recoding, [1, 2, 3], [7], [None, None], chosen=[2, 7, None])

        assert (written.name, len(written)) == ("x", 3)

    def test_leaves_a_cell_of_missing_cells_missing(self, recoding, write):
        written = write(recoding, [1, 2, 3], [None, None], chosen=[2, None])

        assert written.is_null().to_list() == [False, True]

    def test_writes_a_single_value_as_itself(self, recoding, write):
        written = write(recoding, ["a", "a"], ["b"], kind="categorical", chosen=["a", "b"])

        assert written.to_list() == ["a", "b"]

    def test_names_no_category_that_only_suppressed_rows_had(self, recoding, write):
        written = write(
            recoding,
            ["a", "z"],
            kind="categorical",
            unused=["CANARY"],
            dtype=None,
            chosen=["a"],
        )

        assert "CANARY" not in str(written.to_list())


def test_names_differ():
    assert len({each.name for each in ALL}) == 4
