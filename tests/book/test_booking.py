"""How a release is checked against a book: what refuses it, what is said, and what is booked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from book.conftest import leaving, write_release  # type: ignore[import-not-found] # beside
from halfmask import GuaranteeNotMetError, ParameterError, ReleaseError
from halfmask.book import BookSection
from halfmask.book._booking import sum_epsilon
from halfmask.claims import Claim
from halfmask.release.booking import Leaving, LeavingRows

#: Two releases that keep k = 2 each; who is in both is alone.
FIRST = leaving(list("abcd"), [0, 0, 1, 1], ["x", "y", "x", "y"])
SECOND = leaving(list("abcd"), [0, 1, 1, 0], ["x", "y", "x", "y"])


def section(**keys):
    return BookSection(**{"dataset": "people", "receiver": "university", **keys})


def depart(book, out, left, *, kind="microdata", claims=(), booking=None, **keys):
    """Let a release leave as `Release.write` does; return what was said of it."""
    release = SimpleNamespace(
        kind=SimpleNamespace(name=kind, leaving=lambda _: left), claims=claims
    )
    booking = booking or book.booking(section(**keys))
    with booking.leaving(release, out) as departure:
        aside = out.with_name(f".{out.name}")
        manifest = replace(write_release(aside), kind=kind, claims=tuple(claims))
        departure.book(manifest, aside)
        aside.rename(out)
    return departure


def claim(epsilon, **about):
    return Claim(
        model="differential-privacy",
        parameters={"epsilon": epsilon, "delta": 0.0},
        about=about,
        basis="accounted",
        evidence={},
    )


def drawn(people, **digests):
    """Return rows of masks alone: no classes, and columns that were randomised."""
    rows = LeavingRows(
        whose=pl.DataFrame({"person": list(people)}),
        classes=np.full(len(people), -1),
        sensitive=pl.DataFrame(),
        drawn=digests,
    )
    return Leaving(rows=rows)


def test_a_release_under_the_floor_is_refused_and_not_booked(book, tmp_path):
    """Classes {ab, cd} and {ad, bc} single everybody out: k = 1, counted by hand."""
    depart(book, tmp_path / "1", FIRST, min_k=2)

    with pytest.raises(GuaranteeNotMetError, match="k = 1 for 4 people") as refused:
        depart(book, tmp_path / "2", SECOND, min_k=2)
    reuse, coarser, wait, accept = str(refused.value.hint).split("; ")

    assert [each.number for each in book.releases()] == [1]
    assert "reuse" in reuse
    assert "coarser" in coarser
    assert "wait" in wait
    assert "accept" in accept
    assert not (tmp_path / "2").exists()


def test_what_is_accepted_leaves_and_is_booked(book, tmp_path):
    depart(book, tmp_path / "1", FIRST)

    said = depart(book, tmp_path / "2", SECOND, min_k=2, accepted_by="Ann", reason="a court asks")

    assert (book.releases()[1].accepted_by, book.releases()[1].reason) == ("Ann", "a court asks")
    assert "accepted in writing" in said.sentences[0]
    assert any(each.startswith("joined-releases:") and "k = 1" in each for each in said.weaknesses)
    assert not any("Ann" in each or "court" in each for each in (*said.sentences, *said.weaknesses))
    assert book.releases()[1].verdict == tuple(said.sentences)


def test_without_a_floor_it_is_said_what_becomes_weaker(book, tmp_path):
    depart(book, tmp_path / "1", FIRST)

    said = depart(book, tmp_path / "2", SECOND)
    again = depart(book, tmp_path / "3", SECOND)

    assert "together they are weaker" in said.sentences[0]
    assert any("k = 1 for 4 people" in each for each in said.sentences)
    assert any("l of 'job' = 1 " in each for each in said.sentences)
    assert "no weaker" in again.sentences[0]


@pytest.mark.parametrize(("join", "refuses"), [("all", True), ("receiver", False)])
def test_the_floor_is_about_the_releases_that_can_be_joined(book, tmp_path, join, refuses):
    """The registry alone gets one release; with that of the university, people are alone."""
    depart(book, tmp_path / "1", FIRST)
    keys = {"min_k": 2, "join": join, "receiver": "registry"}

    if refuses:
        with pytest.raises(GuaranteeNotMetError):
            depart(book, tmp_path / "2", SECOND, **keys)
        return
    said = depart(book, tmp_path / "2", SECOND, **keys)

    assert "no earlier release of this receiver" in said.sentences[0]
    assert any(each.startswith("Of all receivers: ") and "k = 1" in each for each in said.sentences)
    assert any("of all receivers: " in each for each in said.weaknesses)


def test_what_releases_keep_together_is_counted_for_each_receiver(book, tmp_path):
    """Each has two people in a class; of both together, people are alone."""
    assert book.describe_together() == ()
    depart(book, tmp_path / "1", FIRST, claims=[claim(0.5)])
    depart(book, tmp_path / "2", SECOND, receiver="registry")
    depart(book, tmp_path / "3", drawn("abcd", pay="1"), receiver="registry")

    assert book.describe_together() == ("k = 1", "l of 'job' = 1", "epsilon = 0.5")
    assert book.describe_together("registry")[0] == "k = 2"
    book.forget(2)
    assert book.describe_together("registry") == ()


def test_a_release_that_failed_is_not_compared(book, tmp_path):
    (tmp_path / "1").mkdir()
    with pytest.raises(OSError, match="not empty"):
        depart(book, tmp_path, FIRST, claims=[claim(9.0)])

    said = depart(book, tmp_path / "2", SECOND, min_k=2, claims=[claim(1.0)], max_epsilon=1.0)

    assert [each.state for each in book.releases()] == ["void", "left"]
    assert "no earlier release" in said.sentences[0]


def test_forgotten_releases_and_other_keys_of_people_are_said_to_be_unseen(book, tmp_path):
    depart(book, tmp_path / "1", FIRST)
    depart(book, tmp_path / "2", FIRST)
    book.forget(1)
    whose = pl.DataFrame({"person": list("abcd")})
    rows = LeavingRows(
        whose=whose, classes=np.array([0, 1, 1, 0]), sensitive=pl.DataFrame(), matched=True
    )

    with pytest.raises(
        GuaranteeNotMetError, match="Groups can't be judged without 2 earlier releases"
    ):
        depart(book, tmp_path / "3", Leaving(rows=rows), min_k=2)
    accepted = {"accepted_by": "Ada", "reason": "The people have agreed."}
    departed = depart(book, tmp_path / "3", Leaving(rows=rows), min_k=2, **accepted)
    said = " ".join(departed.sentences)

    assert any("can't be judged" in each for each in departed.weaknesses)
    assert said.startswith("The book has no earlier release of all receivers to compare it with.")
    assert "wasn't compared with 1 earlier release, which the book forgot" in said
    assert "1 earlier release can't be compared" in said
    assert "This is weaker" in said


def test_releases_without_classes_are_said_to_be_uncounted(book, tmp_path):
    depart(book, tmp_path / "1", drawn("abcd", pay="1"))
    depart(book, tmp_path / "2", Leaving())

    said = depart(book, tmp_path / "3", FIRST, min_k=2)

    assert any(each.startswith("2 earlier releases have no classes") for each in said.sentences)
    assert any("isn't counted" in each for each in said.weaknesses)


def test_people_under_another_column_are_told(book, tmp_path):
    """The name of the column is free, but numbers of other things would pass as new people."""
    depart(book, tmp_path / "1", FIRST)
    visits = replace(FIRST.rows, whose=pl.DataFrame({"visit": list("efgh")}))

    said = depart(book, tmp_path / "2", Leaving(rows=visits), min_k=2)

    assert "Another column names people in 1 earlier release" in said.sentences[-1]


@pytest.mark.parametrize("floor", [{"min_l": 2}, {"max_t": 0.5}])
def test_a_floor_of_values_needs_a_sensitive_column(book, tmp_path, floor):
    """A policy is checked when it is read; this section came with `Release.write`."""
    without = Leaving(rows=replace(FIRST.rows, sensitive=pl.DataFrame()))

    with pytest.raises(ParameterError, match="no sensitive column"):
        depart(book, tmp_path / "1", without, **floor)

    assert not book.releases()


def test_a_second_draw_is_counted_by_person_and_column(book, tmp_path):
    """Of b, c there are two draws of pay; of c, d the draws of age are the same."""
    first = depart(book, tmp_path / "1", drawn("abcd", pay="1", age="1"))
    second = depart(book, tmp_path / "2", drawn("bcx", pay="2", age="1"))
    third = depart(book, tmp_path / "3", drawn("abx", pay="1", age="1"))

    assert not first.weaknesses
    assert len(second.weaknesses) == 1
    assert "together they are weaker" in second.sentences[0]
    assert "2 people get another draw of 'pay'" in second.weaknesses[0]
    assert "1 person gets another draw of 'pay'" in third.weaknesses[0]  # x has had "2" alone
    assert "no classes" in third.sentences[-1]


def test_only_what_was_compared_is_said_to_be_checked_against(book, tmp_path):
    depart(book, tmp_path / "1", FIRST)
    depart(book, tmp_path / "2", Leaving(), claims=[claim(0.6)], kind="synthetic")

    alone = depart(book, tmp_path / "3", Leaving(), kind="model")
    private = depart(book, tmp_path / "4", Leaving(), claims=[claim(0.4)], kind="synthetic")
    rows = depart(book, tmp_path / "5", FIRST)

    assert "no earlier release" in alone.sentences[0]
    assert "Checked against 1 earlier release of" in private.sentences[0]
    assert "Checked against 1 earlier release of" in rows.sentences[0]


def test_epsilon_is_added_up_and_has_a_floor(book, tmp_path):
    private = {"kind": "private-answer", "max_epsilon": 1.0}
    depart(book, tmp_path / "1", Leaving(), claims=[claim(0.6, dataset="people")], **private)

    with pytest.raises(GuaranteeNotMetError, match=r"psilon adds up to 1\.2"):
        depart(book, tmp_path / "2", Leaving(), claims=[claim(0.6, dataset="people")], **private)
    said = depart(book, tmp_path / "2", Leaving(), claims=[claim(0.4, dataset="people")], **private)

    assert any("psilon adds up to 1" in each for each in said.sentences)
    assert "manifest alone" in said.sentences[-1]


def test_a_ledger_covers_the_answers_of_its_data_set():
    """Basic composition: 2 of the ledger cover .5 + .7, and 1.1 of a model is added: 3.1."""
    answers = [("private-answer", [claim(each, dataset="people")]) for each in (0.5, 0.7)]
    ledger = ("privacy-ledger", [claim(2.0, dataset="people")])
    model = ("private-model", [claim(1.1, estimator="x")])

    assert sum_epsilon(answers) == pytest.approx(1.2)
    assert sum_epsilon([*answers, ledger, ledger, model]) == pytest.approx(3.1)


def test_plans_are_found_by_number_or_the_last_one(book, tmp_path):
    depart(book, tmp_path / "1", Leaving(plan=b"one"))
    depart(book, tmp_path / "2", Leaving(plan=b"two"))
    depart(book, tmp_path / "3", Leaving())

    assert book.booking(section()).reused() is None
    assert book.booking(section(reuse=1)).reused() == b"one"
    assert book.booking(section(reuse="last")).reused() == b"two"
    with pytest.raises(ParameterError, match="no such release"):
        book.booking(section(reuse=3)).reused()
    with pytest.raises(ParameterError, match="no classes to reuse"):
        depart(book, tmp_path / "4", Leaving(), reuse=1)


def test_the_first_tables_say_that_rows_were_not_compared(book, tmp_path):
    depart(book, tmp_path / "1", FIRST)
    said = depart(book, tmp_path / "2", Leaving(keeps_files=True), booking=_audited(book))
    assert "no earlier release" in said.sentences[0]


def test_tables_must_have_been_protected_together_with_those_that_left(book, tmp_path):
    """A release of tables that left in between wasn't seen when these were protected."""
    depart(book, tmp_path / "1", Leaving(keeps_files=True), booking=_audited(book))
    late, early = _audited(book), _audited(book)
    said = depart(book, tmp_path / "2", Leaving(keeps_files=True), booking=early)

    assert "together with those of 1 earlier release" in said.sentences[-1]
    with pytest.raises(ReleaseError, match="without those that the book has now"):
        depart(book, tmp_path / "3", Leaving(keeps_files=True), booking=late)
    with book.booking(section()).earlier_files() as folders:
        assert [(each / "data" / "part.csv").read_text() for each in folders] == ["age\n40\n"] * 2


def _audited(book):
    booking = book.booking(section())
    with booking.earlier_files():
        return booking


def test_people_wait_only_if_they_may(book, tmp_path):
    """Two of {ab}, {cd} each in one class: nobody can leave with k = 2 but all together."""
    depart(book, tmp_path / "1", FIRST)

    assert not book.booking(section(min_k=2)).waiting(SECOND.rows).any()
    assert book.booking(section(min_k=2, leave_out=0.9)).waiting(FIRST.rows).tolist() == [False] * 4
    with pytest.raises(GuaranteeNotMetError, match=r"100\.00% of people would have to wait"):
        book.booking(section(min_k=2, leave_out=0.9)).waiting(SECOND.rows)


def test_a_section_of_another_data_set_is_refused(book):
    with pytest.raises(ParameterError, match="another data set"):
        book.booking(section(dataset="others"))
