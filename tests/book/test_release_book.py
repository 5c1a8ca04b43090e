"""The book: what is written stays, and what is altered, cut off or of another vault is refused."""

from __future__ import annotations

import numpy as np
import pytest

from book.conftest import leaving, publish, write_release
from halfmask.book import ReleaseBook


def test_what_is_booked_is_read_again(book, vault, tmp_path):
    number = publish(
        book,
        tmp_path / "out",
        leaving=leaving(
            classes=[0, 0, 1], values=["x", None, "x"], plan=b"a plan", keeps_files=True
        ),
        sentences=["It holds."],
        accepted_by="N. N.",
        reason="a study",
    )
    again = ReleaseBook.open(vault, dataset="people")
    (found,) = again.releases()
    assert (found.number, found.state, found.receiver, found.kind) == (
        1,
        "left",
        "university",
        "microdata",
    )
    assert (found.rows, found.people, found.whose, found.sensitive) == (3, 3, ("person",), ("job",))
    assert found.has_classes and not found.matched and not found.forgotten
    assert (found.sentences, found.accepted_by, found.reason) == (
        ("It holds.",),
        "N. N.",
        "a study",
    )
    rows = again.people_of(number)
    assert rows.classes.tolist() == [0, 0, 1]
    digests, codes = rows.sensitive["job"]
    values = digests[codes]
    assert values[0] == values[2] != values[1]
    assert len(np.unique(rows.persons, axis=0)) == 3
    assert again.plan_of(number) == b"a plan"
    assert set(again.files_of(number)) == {"manifest.json", "data/part.csv"}
    assert (
        again.find("last") == again.find(1) == again.find("1") == again.find(tmp_path / "out") == 1
    )
    assert again.check_folders() == {1: "unchanged"}
