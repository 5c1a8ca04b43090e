"""No cell, category or level ever shows in the repr of a value of this room."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from halfmask.anonymize import (
    Anonymizer,
    Centroid,
    Guided,
    Level,
    Mondrian,
    Protection,
    Ranges,
    Representative,
)
from halfmask.anonymize._cells import CellColumn
from halfmask.anonymize._growth import GrowthPlan
from halfmask.data import Column, Hierarchy, Schema
from halfmask.guarantees import DistinctLDiversity, KAnonymity, TCloseness

CANARIES = ("xqcanary", "918273", "1977-11-23", "datetime.date(1977")
TREE = Hierarchy.from_rows(
    [("xqcanary-a", "xqcanary-up", "xqcanary-top"), ("xqcanary-b", "xqcanary-up", "xqcanary-top")],
    column="city",
)
SICK = Hierarchy.from_rows([(f"xqcanary-{i}", "xqcanary-ill") for i in range(4)], column="ill")
FRAME = pl.DataFrame(
    {
        "number": [918273, 918274, 918275, 918276],
        "fraction": [918273.5, 1.0, 2.0, 3.0],
        "day": [dt.date(1977, 11, 23)] * 4,
        "city": ["xqcanary-a", "xqcanary-b"] * 2,
        "free": [f"xqcanary-free-{i}" for i in range(4)],
        "ill": [f"xqcanary-{i}" for i in range(4)],
    }
)
GUARANTEES = (
    KAnonymity(k=2),
    DistinctLDiversity(l=1, column="ill"),
    TCloseness(t=1, column="ill", distance="hierarchical", hierarchy=SICK),
)


def protection(recoding):
    kinds = {"day": "datetime", "city": "categorical", "free": "categorical", "ill": "text"}
    columns = [
        Column(
            name=name,
            role="sensitive" if name == "ill" else "quasi_identifier",
            kind=kinds.get(name, "numeric"),  # type: ignore[arg-type] # a Literal each
            hierarchy=TREE if name == "city" else None,
        )
        for name in FRAME.columns
    ]
    return Protection(
        schema=Schema(tuple(columns)),
        guarantees=GUARANTEES,
        method=Guided(),
        recoding=recoding,
        max_suppression_fraction=0.0,
        split_targets=("free",),
    )


@pytest.mark.parametrize("recoding", [Ranges(), Level(), Centroid(), Representative()], ids=repr)
def test_values_of_a_protection(recoding):
    each = protection(recoding)
    summary = each.summarize(FRAME)
    fitted = each.fit(summary)
    plan, mended, counts = each.plan_counted(fitted)
    batch = each.count(mended, FRAME)
    cells = CellColumn(
        coding=fitted.codings[0],
        low=fitted.partition.low[:, 0],
        high=fitted.partition.high[:, 0],
        cells=fitted.cell_of_row,
        codes=fitted.codes[0],
    )
    values = [
        each, summary, fitted, plan, mended, counts, batch, cells, mended.partition,
        *fitted.codings, *fitted.sensitive, *fitted.guarantees, *mended.judge(), counts.classes,
        GrowthPlan(guides=np.array([[918273.0]])), Mondrian(), recoding,
    ]  # fmt: skip

    for value in values:
        shown = f"{value!r} {value}"
        assert not [canary for canary in CANARIES if canary in shown], type(value).__name__


def test_an_anonymizer():
    anonymizer = Anonymizer(
        guarantees=list(GUARANTEES), hierarchies={"city": TREE}, recoding=Level()
    )

    before = repr(anonymizer)
    after = repr(anonymizer.fit(FRAME)) + repr(anonymizer.judgements_) + repr(anonymizer.plan_)

    for shown in (before, after):
        assert not [canary for canary in CANARIES if canary in shown]


def test_a_canary_would_be_seen():
    assert any(canary in repr(FRAME) for canary in CANARIES)
