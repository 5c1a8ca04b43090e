"""What is left of a suppressed row in an estimator's output."""

from __future__ import annotations

import polars as pl

from halfmask.anonymize import Anonymizer, Ranges
from halfmask.guarantees import DistinctLDiversity, KAnonymity


def test_a_suppressed_row_keeps_its_place_and_neither_keys_nor_secrets():
    ages = [20 + i % 10 for i in range(119)] + [98765]
    ill = ["flu" if i % 2 else "cold" for i in range(119)] + ["rare"]
    frame = pl.DataFrame({"age": ages, "ill": ill, "n": range(120)})
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=4), DistinctLDiversity(l=2, column="ill")],
        quasi_identifiers=["age"],
        recoding=Ranges(),
        max_suppression_fraction=0.1,
    )

    written = anonymizer.fit_transform(frame)

    assert anonymizer.cells_[-1] == -1
    assert written.row(119) == (None, None, 119)
    assert "rare" not in written["ill"].to_list()
    assert written["ill"].null_count() == int((anonymizer.cells_ < 0).sum())
