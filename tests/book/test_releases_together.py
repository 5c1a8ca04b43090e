"""What the book says of releases that are made by `halfmask.protect`, in small examples."""

from __future__ import annotations

import json
import threading
from typing import Any

import polars as pl
import pytest

from halfmask import GuaranteeNotMetError, ParameterError, VaultError, protect
from halfmask.book import ReleaseBook
from halfmask.microdata import Policy

pytestmark = pytest.mark.usefixtures("book")

COLUMNS: dict[str, dict[str, Any]] = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "numeric"},
    "ill": {"role": "sensitive", "kind": "categorical"},
}


def policy(receiver: str = "a", *, columns: dict[str, Any] | None = None, **book: Any) -> Policy:
    person = {} if "match" in book else {"person": "who"}
    return Policy(
        halfmask=1,
        columns=columns or COLUMNS,
        guarantees=[{"model": "k-anonymity", "k": 3}],
        book={"dataset": "people", "receiver": receiver, **person, **book},
    )


def full_domain(columns: dict[str, Any], **book: Any) -> Policy:
    asked = policy(columns=columns, **book).model_dump(exclude_unset=True, by_alias=True)
    return Policy(**asked, method={"name": "full-domain"})


def people(numbers, ages=(30, 60)) -> pl.DataFrame:
    """Return people of whom the even ones have the first age."""
    return pl.DataFrame(
        {
            "who": list(numbers),
            "age": [ages[number % 2] for number in numbers],
            "ill": ["xyz"[number % 3] for number in numbers],
        }
    )


def left(vault):
    book = ReleaseBook.open(vault, dataset="people")
    return [each for each in book.releases() if each.state == "left"]


def release(vault, out, rows, asked=None):
    protect(rows, asked or policy(min_k=3), vault=vault).write(out)
    return json.loads((out / "manifest.json").read_text())


def test_the_same_people_in_the_same_classes_hold(vault, tmp_path):
    for number in range(2):
        release(vault, tmp_path / f"{number}", people(range(12)))
    manifest = release(vault, tmp_path / "2", people(range(12)))
    assert not [each for each in manifest["weaknesses"] if "joined-releases" in each]
    assert [each.people for each in left(vault)] == [12, 12, 12]
    assert [each.number for each in left(vault)] == [1, 2, 3]


def test_a_newcomer_is_found_by_the_difference_of_two_releases(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    with pytest.raises(GuaranteeNotMetError, match="k = 1 for 1 p"):
        release(vault, tmp_path / "2", people(range(13)))
    assert not (tmp_path / "2").exists()
    assert len(left(vault)) == 1
    release(vault, tmp_path / "3", people(range(18)))  # three newcomers in each class


def test_someone_who_leaves_is_found_too(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    with pytest.raises(GuaranteeNotMetError):
        release(vault, tmp_path / "2", people(range(11)))


def test_who_comes_back_is_compared_with_all_earlier_releases(vault, tmp_path):
    """Twelve, then six of them, then all: the groups are six and six, and stay so."""
    asked = policy(min_k=3)
    for number, who in enumerate((range(12), range(6), range(12), range(6, 12))):
        release(vault, tmp_path / f"{number}", people(who), asked)
    with pytest.raises(GuaranteeNotMetError):
        release(vault, tmp_path / "last", people((0, 1, 2, 3, 6, 7, 8, 9)))


def test_without_a_floor_the_verdict_is_stated_and_nothing_is_refused(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)), policy())
    manifest = release(vault, tmp_path / "2", people(range(13)), policy())
    assert any("k = 1" in each for each in manifest["weaknesses"])
    assert any("k = 1" in each for each in left(vault)[1].verdict)


def test_an_accepted_release_is_booked_with_name_and_reason(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    asked = policy(min_k=3, accepted_by="A. Owner", reason="Only our own analysts read it.")
    manifest = release(vault, tmp_path / "2", people(range(13)), asked)
    booked = left(vault)[1]
    assert (booked.accepted_by, booked.reason) == ("A. Owner", "Only our own analysts read it.")
    assert any("k = 1" in each for each in manifest["weaknesses"])


@pytest.mark.parametrize("join", ["all", "receiver"])
def test_the_floor_is_about_the_scope_that_the_section_names(join, vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)), policy("a", min_k=3, join=join))
    asked = policy("b", min_k=3, join=join)
    if join == "all":
        with pytest.raises(GuaranteeNotMetError):
            release(vault, tmp_path / "2", people(range(13)), asked)
    else:
        manifest = release(vault, tmp_path / "2", people(range(13)), asked)
        assert any("k = 1" in each for each in manifest["weaknesses"])


def test_a_number_and_its_text_are_one_person(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    texts = people(range(12)).with_columns(pl.col("who").cast(pl.String))
    manifest = release(vault, tmp_path / "2", texts)
    assert not [each for each in manifest["weaknesses"] if "joined-releases" in each]


def test_newcomers_wait_where_some_may(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    rows = people(range(13))
    made = protect(rows, policy(min_k=3, leave_out=0.1, reuse="last"), vault=vault)
    made.write(tmp_path / "2")
    assert made.rows["out"] == 12
    assert [each.people for each in left(vault)] == [12, 12]
    with pytest.raises(GuaranteeNotMetError, match="%"):
        release(vault, tmp_path / "3", people(range(1, 24)), policy(min_k=6, leave_out=0.01))
    assert not (tmp_path / "3").exists()


def test_who_is_left_alone_in_a_class_waits_and_is_counted(vault, tmp_path):
    """Two newcomers wait; the one who moved into their class too, and two whom that one left."""
    age = {"role": "quasi_identifier", "kind": "numeric", "hierarchy": {"intervals": [10]}}
    columns = {**COLUMNS, "age": age}
    release(vault, tmp_path / "1", people(range(12)), full_domain(columns, min_k=3))
    moved = people(range(14)).with_columns(
        age=pl.when(pl.col("who") >= 11).then(90).otherwise(pl.col("age"))
    )
    made = protect(moved, full_domain(columns, min_k=3, reuse="last", leave_out=0.4), vault=vault)
    assert (made.rows["out"], made.rows["waiting"]) == (9, 5)
    with pytest.raises(GuaranteeNotMetError, match=r"35\.71%"):
        protect(moved, full_domain(columns, min_k=3, reuse="last", leave_out=0.3), vault=vault)


def test_columns_that_stand_for_the_person_are_a_weaker_check_that_says_so(vault, tmp_path):
    columns = {name: it for name, it in COLUMNS.items() if name != "who"}
    rows = people(range(12)).drop("who")
    asked = policy(columns=columns, match=["age"], min_k=3)
    release(vault, tmp_path / "1", rows, asked)
    release(vault, tmp_path / "2", rows, asked)
    assert any("weaker" in each for each in left(vault)[1].verdict)


def test_two_releases_at_once_are_checked_against_each_other(vault, tmp_path):
    """Each holds alone; whichever is second is refused."""
    refused = []

    def leave(name: str, n: int) -> None:
        try:
            release(vault, tmp_path / name, people(range(n)))
        except GuaranteeNotMetError:
            refused.append(name)

    threads = [threading.Thread(target=leave, args=(f"{n}", n)) for n in (12, 13)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(refused) == 1
    assert len(left(vault)) == 1
    assert not (tmp_path / refused[0]).exists()


def test_a_book_that_nobody_made_is_an_error(vault, tmp_path):
    asked = Policy(
        halfmask=1,
        columns=COLUMNS,
        guarantees=[{"model": "k-anonymity", "k": 3}],
        book={"dataset": "peeple", "receiver": "a", "person": "who"},
    )
    with pytest.raises(VaultError):
        protect(people(range(12)), asked, vault=vault)
    with pytest.raises(ParameterError):
        protect(people(range(12)), asked)
    assert not list((tmp_path / "vault").glob("peeple*"))


def test_a_floor_that_a_forgotten_release_leaves_unknown_is_refused(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    ReleaseBook.open(vault, dataset="people").forget(1)
    with pytest.raises(
        GuaranteeNotMetError, match="Groups can't be judged without 1 earlier release"
    ):
        release(vault, tmp_path / "2", people(range(13)))
    assert not (tmp_path / "2").exists()
    release(vault, tmp_path / "2", people(range(13)), policy(accepted_by="Ada", reason="Old."))
    assert any("forg" in each for each in left(vault)[1].verdict)


def test_a_release_that_was_altered_since_is_found(vault, tmp_path):
    release(vault, tmp_path / "1", people(range(12)))
    release(vault, tmp_path / "2", people(range(12)))
    book = ReleaseBook.open(vault, dataset="people")
    assert book.check_folders() == {}
    data = next((tmp_path / "1" / "data").iterdir())
    data.write_bytes(data.read_bytes() + b"x")
    (tmp_path / "2").rename(tmp_path / "moved")
    assert book.check_folders() == {1: "altered", 2: "missing"}


def test_no_cell_is_in_what_the_book_says(vault, tmp_path):
    rows = people(range(12)).with_columns(
        ill=pl.lit("CANARY"), who=pl.lit("MARMOT") + pl.col("who").cast(pl.String)
    )
    release(vault, tmp_path / "1", rows)
    with pytest.raises(GuaranteeNotMetError) as refusal:
        release(vault, tmp_path / "2", rows[:11])
    book = ReleaseBook.open(vault, dataset="people")
    said = (
        f"{refusal.value} {book!r} {book.releases()} {[each.verdict for each in book.releases()]}"
    )
    assert "CANARY" not in said
    assert "MARMOT" not in said
    raw = b"".join(path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file())
    assert b"CANARY" not in raw
    assert b"MARMOT" not in raw
