"""What classes tell the book of releases, and what becomes of rows that must wait."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from halfmask._errors import GuaranteeNotMetError
from halfmask.anonymize.reusing import open_plan
from halfmask.microdata import Policy, protect
from halfmask.microdata._leaving_rows import leaving

if TYPE_CHECKING:
    from halfmask.release.booking import LeavingRows

KEY = bytes(32)
POLICY = """
halfmask = 1
person = "id"
[columns]
id = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical" }
ill = { role = "sensitive", kind = "categorical" }
note = { role = "insensitive", kind = "text" }
[recoding]
name = "ranges"
[[guarantees]]
model = "k-anonymity"
k = 5
[book]
dataset = "people"
receiver = "somebody"
leave_out = 0.5
min_k = 2
"""


def policy(*changes):
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return Policy.from_toml(text)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in rng.permutation(n)],
            "age": rng.integers(17, 90, n),
            "town": rng.choice(list("abcdef"), n),
            "ill": rng.choice(["flu", "cold", "none"], n),
            "note": [f"row {i}" for i in range(n)],
        }
    )


@dataclass
class Book:
    """A book in which some people must wait, whatever their class."""

    section: object
    plan: bytes | None = None
    waits: frozenset[str] = frozenset()
    only_in_classes: bool = False
    asked: list[LeavingRows] = field(default_factory=list)

    def reused(self):
        return self.plan

    def waiting(self, rows):
        self.asked.append(rows)
        if self.only_in_classes and not rows.classes.any():
            return np.zeros(len(rows.classes), dtype=bool)
        return rows.whose["id"].is_in(list(self.waits)).to_numpy()

    @contextmanager
    def earlier_files(self):
        yield []

    @contextmanager
    def leaving(self, release, out):
        del release, out
        yield None


def booked(table, wanted, **given):
    book = Book(wanted.book, **given)
    return protect(table, wanted, key=KEY, book=book), book


def rows_of(release):
    rows = leaving(release).rows
    assert rows is not None
    return rows


def check_aligned(release, table, names=("id",)):
    """Each class has the people, and the values, of one class of the release."""
    rows = rows_of(release)
    kept = pl.concat([rows.whose, rows.sensitive], how="horizontal").with_columns(
        pl.Series("class", rows.classes)
    )
    raw = table.join(kept.drop("ill"), on=list(names), how="inner", maintain_order="left")
    known = [*raw.select("ill", *names).sort(pl.all()).rows()]
    assert known == kept.select("ill", *names).sort(pl.all()).rows()
    written = release.data
    of_class = {key: Counter(group["ill"]) for (key,), group in raw.group_by("class")}
    labels = {key: Counter(group["ill"]) for key, group in written.group_by("age", "town")}
    spans = {}
    for (key,), group in raw.group_by("class"):
        low, high = group["age"].min(), group["age"].max()
        towns = sorted(group["town"].unique())
        spans[key] = (str(low) if low == high else f"[{low}, {high}]", towns[0], towns[-1])
    found = {}
    for (age, town), values in labels.items():
        members = town.strip("{}").split(", ")
        found[age, members[0], members[-1]] = values
    assert {spans[key]: values for key, values in of_class.items()} == found
    return rows


def test_whose_rows_leave_in_which_class_with_what_is_sensitive():
    table = people()
    release, book = booked(table, policy())

    rows = check_aligned(release, table)

    assert not rows.matched
    assert rows.drawn == {}
    assert len(rows.classes) == 400
    assert len(book.asked) == 2
    assert not book.asked[0].classes.any()
    assert "p0" not in repr(rows) + repr(release.source)


def test_suppressed_rows_and_rows_without_a_value_do_not_leave():
    table = people().with_columns(
        age=pl.when(pl.int_range(400) % 7 == 0).then(None).otherwise("age")
    )
    wanted = policy(
        ('"numeric" }', '"numeric", missing = "suppress" }'),
        ("[book]", "[suppression]\nmax_fraction = 0.1\n[book]"),
    )
    release, _ = booked(table, wanted)

    rows = check_aligned(release, table)

    assert len(rows.classes) == release.rows["out"] < 400 - 57


@pytest.mark.parametrize("n_rows", [50, 10**6])
def test_a_sampled_table_tells_the_same_in_batches(monkeypatch, n_rows):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", n_rows)
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 200)
    table = people().with_columns(
        age=pl.when(pl.int_range(400) % 7 == 0).then(None).otherwise("age")
    )
    release, _ = booked(table, policy(('"numeric" }', '"numeric", missing = "suppress" }')))

    assert release.source.cells is None
    check_aligned(release, table)


def test_rows_of_a_sampled_table_can_not_wait(monkeypatch):
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", 200)
    with pytest.raises(GuaranteeNotMetError, match="12 rows would have to wait"):
        booked(people(), policy(), waits=frozenset(f"p{i}" for i in range(12)))


def test_masks_do_not_change_whose_row_it_is():
    table = people()
    pram, token = '{ name = "pram", keep = 0.6 }', '{ name = "token" }'
    wanted = policy(
        ('ill = { role = "sensitive",', f'ill = {{ role = "sensitive", mask = {pram},'),
        ("town = { role =", f"town = {{ mask = {token}, role ="),
    )
    release, _ = booked(table, wanted)

    rows = rows_of(release)

    assert sorted(rows.whose["id"]) == sorted(table["id"])
    assert sorted(rows.sensitive["ill"]) == sorted(release.data["ill"])
    assert list(rows.drawn) == ["ill"]
    assert not set(table["town"]) & set(release.data["town"])
    wanted = policy(
        ("town = { role =", f"town = {{ mask = {token}, role ="),
        ('person = "id"\n', ""),
        ("leave_out = 0.5", 'match = ["town"]'),
    )
    matched, _ = booked(table, wanted)
    assert sorted(rows_of(matched).whose["town"]) == sorted(table["town"])


def test_without_a_person_columns_match_people():
    table = people()
    release, _ = booked(table, policy(('person = "id"\n', ""), ("leave_out = 0.5", "")))

    rows = rows_of(release)

    assert rows.matched
    assert rows.whose.columns == ["age", "town"]
    assert sorted(rows.whose.rows()) == sorted(table.select("age", "town").rows())


@pytest.mark.parametrize("only_in_classes", [False, True])
@pytest.mark.parametrize("method", ['"mondrian"', '"mdav"', '"full-domain"'])
def test_people_who_wait_are_not_released_and_the_others_keep_k(method, only_in_classes, tmp_path):
    table = people()
    recoding = "level" if method == '"full-domain"' else "ranges"
    wanted = policy(
        ("[[guar", f"[method]\nname = {method}\n[[guar"),
        ('"ranges"', f'"{recoding}"'),
        ("[book]", "[suppression]\nmax_fraction = 0.2\n[book]"),
    )
    who = frozenset(f"p{i}" for i in range(0, 400, 9))

    release, _ = booked(table, wanted, waits=who, only_in_classes=only_in_classes)

    left = table.join(release.data, on="note", how="semi")
    assert not who & set(left["id"])
    assert release.data.group_by("age", "town").len()["len"].min() >= 5
    lost = 400 - release.rows["out"]
    assert release.rows["suppressed"] == lost >= release.rows["waiting"] >= len(who)
    assert set(rows_of(release).whose["id"]) == set(left["id"])
    release.write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"{release.rows['waiting']} of them wait for a later release." in page


def test_cells_that_lack_people_without_those_who_wait_are_merged():
    table = people()
    young = frozenset(table.filter(pl.col("age") < 40)["id"].to_list()[::2])

    release, _ = booked(table, policy(), waits=young)

    assert release.rows["waiting"] == len(young)
    assert release.rows["out"] == 400 - len(young)


def test_nobody_waits_where_nobody_may():
    who = frozenset({"p1", "p2"})
    release, book = booked(people(), policy(("leave_out = 0.5", "")), waits=who)

    assert release.rows == {"in": 400, "out": 400, "suppressed": 0}
    assert not book.asked


def test_it_is_an_error_if_more_people_lose_their_class_than_may_wait():
    table = people()
    who = frozenset(table["id"].to_list()[::3])

    with pytest.raises(GuaranteeNotMetError, match="of people would have to wait"):
        booked(table, policy(("0.5", "0.34")), waits=who, only_in_classes=True)


def test_who_waits_is_asked_again_where_cells_fell_that_missed_a_guarantee():
    """Their people are missing now, too: a rest of an earlier group can be too small by it."""
    who = frozenset(people()["id"].to_list()[::3])

    release, book = booked(people(), policy(("0.5", "0.9")), waits=who, only_in_classes=True)

    assert release.rows["waiting"] > len(who)
    _, second, last = (set(each.whose["id"]) for each in book.asked)
    assert len(second) == 400
    assert last == set(rows_of(release).whose["id"])


def test_another_months_rows_fall_into_the_classes_of_the_plan():
    first, _ = booked(people(), policy())
    sealed = leaving(first).plan
    table = people(seed=1)

    release, _ = booked(table, policy(), plan=sealed)
    fresh, _ = booked(table, policy())

    rows = check_aligned(release, table)
    plan = first.source.plan
    earlier = plan.cells(table)
    joined: dict[int, set[int]] = {}
    for cell, of_row in zip(earlier, rows.classes[_order(rows, table)], strict=True):
        joined.setdefault(cell, set()).add(of_row)
    assert all(len(classes) == 1 for classes in joined.values())
    own = fresh.source.plan.cells(table)
    assert len({*zip(own.tolist(), earlier.tolist(), strict=True)}) > len(set(own.tolist()))
    assert open_plan(leaving(release).plan or b"").columns == ("age", "town")


def _order(rows, table):
    place = {who: number for number, who in enumerate(rows.whose["id"])}
    return [place[who] for who in table["id"]]
