"""The book: what is written stays, and what is altered, cut off or of another vault is refused."""

from __future__ import annotations

import numpy as np

from book.conftest import leaving, publish
from halfmask.book import ReleaseBook


def test_what_is_booked_is_read_again(book, vault, tmp_path):
    kept = leaving(classes=[0, 0, 1], values=["x", None, "x"], plan=b"a plan", keeps_files=True)
    said = {"verdict": ["It holds."], "accepted_by": "N. N.", "reason": "a study"}
    number = publish(book, tmp_path / "out", leaving=kept, **said)
    again = ReleaseBook.open(vault, dataset="people")
    (found,) = again.releases()
    assert (found.number, found.state, found.receiver) == (1, "left", "university")
    assert (found.people, found.whose, found.matched) == (3, ("person",), False)
    assert (found.verdict, found.accepted_by, found.reason) == (("It holds.",), "N. N.", "a study")
    assert not found.forgotten
    rows = again.people_of(number)
    assert rows.classes.tolist() == [0, 0, 1]
    assert rows.sensitive["job"][0] == rows.sensitive["job"][2] != rows.sensitive["job"][1]
    assert len(np.unique(rows.persons, axis=0)) == 3
    assert again.plan_of(number) == b"a plan"
    assert set(again.files_of(number)) == {"manifest.json", "data/part.csv"}
    assert {again.find(it) for it in ("last", 1, "1", tmp_path / "out")} == {1}
    assert again.check_folders() == {}
