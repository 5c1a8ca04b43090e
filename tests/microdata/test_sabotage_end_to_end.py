"""Sabotage: an engine that breaks a promise in any of these ways gets no release out."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from halfmask._errors import VerificationError
from halfmask.data import Schema
from halfmask.guarantees import KAnonymity
from halfmask.microdata import _claims, _classes, opening, protect_to
from halfmask.microdata._classed_rows import CELL, ClassedRows
from halfmask.verifier.tables import verify
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    K,
    people,
    policy,
    promise,
    released,
    with_gaps,
)

WANTED = policy(
    K,
    promise("distinct-l-diversity", "illness", l=2),
    columns={"spent": {"missing": "suppress"}},
)


@pytest.fixture(autouse=True)
def no_page(monkeypatch):
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


def raw(prepared, columns):
    """Return the rows that leave as they were, in the table's order."""
    rows = prepared.source.read().drop_nulls("spent")
    return rows.with_columns(pl.col(columns).cast(pl.String))


def identity(patch):
    """Nothing is done to any row."""
    finished = ClassedRows.finished

    def as_it_was(self, placed):
        known = raw(self, QUASI)
        return finished(self, placed).drop(QUASI).join(known, on="row").select(self.columns)

    patch.setattr(ClassedRows, "finished", as_it_was)


def one_column_as_it_was(patch):
    """One quasi-identifier is forgotten."""
    finished = ClassedRows.finished

    def as_it_was(self, placed):
        known = raw(self, QUASI).select("row", "age")
        return finished(self, placed).drop("age").join(known, on="row").select(self.columns)

    patch.setattr(ClassedRows, "finished", as_it_was)


def one_raw_row(patch):
    """A single row leaves as it was."""
    finished = ClassedRows.finished

    def leaking(self, placed):
        rows = finished(self, placed)
        own = rows[:1].drop(QUASI).join(raw(self, QUASI), on="row").select(self.columns)
        return pl.concat([own, rows[1:]])

    patch.setattr(ClassedRows, "finished", leaking)


def smaller_classes(patch):
    """The engine keeps k - 1, and the claim says k."""
    _weaken(patch)
    made = _claims.make_claims

    def bold(guarantees, classes, names):
        claims = made(guarantees, classes, names)
        return (replace(claims[0], parameters={"k": K["k"]}), *claims[1:])

    patch.setattr(_classes, "make_claims", bold)


def smaller_promise(patch):
    """The engine keeps k - 1, and the claim says so: it isn't what the owner wants."""
    _weaken(patch)


def _weaken(patch):
    whole = opening.protection_of

    def weak(wanted, schema, *people):
        protection = whole(wanted, schema, *people)
        fewer = KAnonymity(k=K["k"] - 1)
        return replace(protection, guarantees=(fewer, *protection.guarantees[1:]))

    patch.setattr(_classes, "protection_of", weak)


def no_promise(patch):
    """A claim is forgotten."""
    made = _claims.make_claims
    patch.setattr(_classes, "make_claims", lambda *given: made(*given)[:-1])


def better_evidence(patch):
    """The evidence states more than was counted."""
    made = _claims.make_claims

    def bold(*given):
        claims = made(*given)
        evidence = replace(claims[0].evidence, achieved=claims[0].evidence.achieved + 1)
        return (replace(claims[0], evidence=evidence), *claims[1:])

    patch.setattr(_classes, "make_claims", bold)


def a_column_left_out(patch):
    """A claim is about fewer columns than others may know."""
    made = _claims.make_claims

    def narrow(*given):
        return tuple(replace(claim, quasi_identifiers=QUASI[1:]) for claim in made(*given))

    patch.setattr(_classes, "make_claims", narrow)


def a_column_left_out_and_hidden(patch):
    """The same, and the manifest calls the column insensitive, so that the verifier agrees."""
    a_column_left_out(patch)
    columns = _claims.stated_columns

    def lying(prepared):
        return [
            replace(each, role="insensitive") if each.name == QUASI[0] else each
            for each in columns(prepared)
        ]

    patch.setattr(_claims, "stated_columns", lying)


def an_identifier(patch):
    """A column that must not leave does."""
    patch.setattr(ClassedRows, "columns", property(lambda self: list(self.source.columns)))


def a_hidden_identifier(patch):
    """A column that must not leave does, and the manifest doesn't list it."""
    finished = ClassedRows.finished

    def with_names(self, placed):
        names = self.source.read(columns=["row", "name"])
        return finished(self, placed).join(names, on="row")

    patch.setattr(ClassedRows, "finished", with_names)


def a_renamed_identifier(patch):
    """An identifier's cells leave under the name of another column, as text."""
    finished = ClassedRows.finished

    def renamed(self, placed):
        names = self.source.read(columns=["row", "name"])
        rows = finished(self, placed).join(names, on="row")
        return rows.with_columns(town=pl.col("name")).select(self.columns)

    patch.setattr(ClassedRows, "finished", renamed)


def suppressed_rows(patch):
    """Rows that are left out for a missing cell leave all the same."""

    def everybody(self, function, progress=None):  # noqa: ARG001 # as what it stands for
        yield function(0, _in_their_cells(self, self.source.read()))

    patch.setattr(ClassedRows, "each", everybody)


def suppressed_rows_in_place_of_others(patch):
    """As many rows as are stated leave, but the suppressed ones are among them."""

    def others(self, function, progress=None):  # noqa: ARG001 # as what it stands for
        rows = self.source.read().sort("spent", nulls_last=False).head(self.n_out)
        yield function(0, _in_their_cells(self, rows))

    patch.setattr(ClassedRows, "each", others)


def _in_their_cells(prepared, rows):
    cells = pl.Series(CELL, prepared.plan.cells(rows), dtype=pl.Int32)
    leaving = [name for name in prepared.columns if name not in QUASI]
    return rows.with_columns(cells).select(*leaving, CELL)


def a_row_lost(patch):
    """A row doesn't leave, so that its class is smaller than was counted."""
    each = ClassedRows.each

    def losing(self, function, *progress):
        return each(self, lambda number, rows: function(number, rows[1:]), *progress)

    patch.setattr(ClassedRows, "each", losing)


def gaps_forgotten(patch):
    """Whatever must not be missing is taken for any other cell when rows are placed."""
    each = ClassedRows.each

    def forgetful(self, function, *progress):
        columns = tuple(replace(column, missing="value") for column in self.schema.columns)
        return each(replace(self, schema=Schema(columns)), function, *progress)

    patch.setattr(ClassedRows, "each", forgetful)


def another_cell(patch):
    """Each row gets what is written for the cell of the next one."""
    each = ClassedRows.each

    def rotated(self, function, *progress):
        def of_others(number, rows):
            return function(number, rows.with_columns(pl.col(CELL).shift(7, fill_value=0)))

        return each(self, of_others, *progress)

    patch.setattr(ClassedRows, "each", rotated)


def a_file_changed(patch):
    """The data file isn't the one whose hash is stated."""
    patch.setattr("halfmask.microdata._writing.file_sha256", lambda _path: "0" * 64)


SABOTAGE = [
    identity,
    one_column_as_it_was,
    one_raw_row,
    smaller_classes,
    smaller_promise,
    no_promise,
    better_evidence,
    a_column_left_out,
    a_column_left_out_and_hidden,
    an_identifier,
    a_hidden_identifier,
    a_renamed_identifier,
    suppressed_rows,
    suppressed_rows_in_place_of_others,
    a_row_lost,
    another_cell,
    a_file_changed,
]


def table():
    return with_gaps(people(), ["spent"])


@pytest.mark.slow
@pytest.mark.parametrize("sabotage", SABOTAGE, ids=lambda each: each.__name__)
def test_sabotage(tmp_path, monkeypatch, sabotage):
    """Every fault of the engine turns red, leaves nothing, and leaves an earlier release alone."""
    protect_to(table(), WANTED, tmp_path / "old", key=KEY)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    sabotage(monkeypatch)

    with pytest.raises(VerificationError):
        protect_to(table(), WANTED, tmp_path / "out", key=KEY)
    with pytest.raises(VerificationError):
        protect_to(table(), WANTED, tmp_path / "old", key=KEY, overwrite=True)

    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert {p.name for p in tmp_path.iterdir()} == {"old", "old.owner.html"}


def test_gaps_forgotten(tmp_path, monkeypatch):
    """Rows that no longer fit their cells stop the writing, even before anything is verified."""
    gaps_forgotten(monkeypatch)

    with pytest.raises(Exception, match=r"length"):
        protect_to(table(), WANTED, tmp_path / "out", key=KEY)

    assert not list(tmp_path.iterdir())


def test_without_sabotage(tmp_path):
    """The same table and policy are fine when nobody meddles."""
    protect_to(table(), WANTED, tmp_path / "out", key=KEY)

    assert verify(tmp_path / "out").holds
    assert released(tmp_path / "out").height < 240
