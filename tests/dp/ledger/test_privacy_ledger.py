"""The ledger: what isn't booked isn't answered, and no process books more than is left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys

import polars as pl
import pytest

import halfmask
from halfmask import BudgetError, DataError, IntegrityError, ParameterError, VaultError
from halfmask.data import open_table
from halfmask.dp.accounting import EpsilonDeltaEvent, GaussianEvent, LaplaceEvent, epsilon_of
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit, fingerprint_of, release_ledger

PEOPLE = pl.DataFrame({"person": ["a", "b", "b"], "age": [41, 17, None], "weight": [1.5, 2.5, 3.5]})


def laplace(epsilon):
    return LaplaceEvent(noise_multiplier=1 / epsilon, coordinates=1)


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=1.0, delta=1e-6
    )


def test_a_budget_can_be_spent_to_its_end_and_no_further(ledger):
    for _ in range(10):
        ledger.charge([laplace(0.1)], purpose="a count")

    assert ledger.spent <= 1.0 + 1e-8
    with pytest.raises(BudgetError, match="Nothing was charged"):
        ledger.charge([laplace(0.01)], purpose="one more")
    assert len(ledger.charges) == 10


def test_charges_are_there_when_the_ledger_is_opened_again(ledger, tmp_path):
    ledger.charge([laplace(0.25), laplace(0.25)], purpose="two counts")

    again = PrivacyLedger.open(tmp_path / "vault", dataset="people")

    assert again.terms == ledger.terms
    (charge,) = again.charges
    assert (charge.number, charge.purpose) == (1, "two counts")
    assert charge.events == (laplace(0.25), laplace(0.25))
    assert again.spent == pytest.approx(0.5, rel=1e-4)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("vault", "dataset"), [("vault", "peple"), ("vualt", "people")])
def test_a_name_without_a_ledger_is_said_to_be_one(tmp_path, vault, dataset):
    with pytest.raises(VaultError, match="no ledger of that data set") as found:
        PrivacyLedger.open(tmp_path / vault, dataset=dataset)

    assert "the data set's name" in str(found.value.hint)


def test_many_small_charges_cost_less_than_their_sum(tmp_path):
    """Advanced composition: 400 of epsilon 0.01 cost about 1, not 4."""
    ledger = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=2.0, delta=1e-5
    )
    ledger.charge([laplace(0.01)] * 400, purpose="many counts")

    assert ledger.spent < 1.2
    with pytest.raises(BudgetError):
        ledger.charge([laplace(1.5)], purpose="one more")


def test_a_delta_that_is_spent_is_refused(ledger):
    ledger.charge([EpsilonDeltaEvent(epsilon=0.1, delta=6e-7)], purpose="keys")
    with pytest.raises(BudgetError, match="takes delta 6e-07") as found:
        ledger.charge([EpsilonDeltaEvent(epsilon=0.1, delta=6e-7)], purpose="keys")
    assert "2e-07 is left" in str(found.value)
    assert "epsilon" not in str(found.value)
    assert ledger.delta_left == pytest.approx(2e-7)


def test_gaussian_noise_needs_a_delta(tmp_path):
    ledger = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=9.0, delta=0.0
    )
    with pytest.raises(BudgetError, match="takes a delta, and the budget has none"):
        ledger.charge([GaussianEvent(noise_multiplier=100.0, coordinates=1)], purpose="a sum")


def test_gaussian_noise_needs_what_is_left_of_delta(ledger):
    ledger.charge([EpsilonDeltaEvent(epsilon=0.1, delta=1e-6)], purpose="keys")
    with pytest.raises(BudgetError, match="takes a delta, and the budget has none left"):
        ledger.charge([GaussianEvent(noise_multiplier=100.0, coordinates=1)], purpose="a sum")
    with pytest.raises(BudgetError, match=r"0\.1 of it is spent"):
        ledger.charge([laplace(0.95)], purpose="a sum")


@pytest.mark.parametrize("budget", [3.0, 32.0, 36.0, 60.0, 200.0])
def test_a_large_budget_answers_with_gaussian_noise(budget, tmp_path):
    ledger = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=budget, delta=1e-5
    )
    for _ in range(12):
        ledger.charge([GaussianEvent(noise_multiplier=18.0, coordinates=1)], purpose="a sum")
    ledger.charge([laplace(1.0)], purpose="a count")
    assert ledger.spent < 3
    release_ledger(ledger, tmp_path / "statement")
    assert halfmask.verify(tmp_path / "statement").holds


def test_gaussian_noise_beyond_what_is_counted_says_so(tmp_path):
    ledger = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=500.0, delta=1e-5
    )
    ledger.charge([GaussianEvent(noise_multiplier=0.12, coordinates=1)], purpose="a sum")
    with pytest.raises(BudgetError) as found:
        ledger.charge([GaussianEvent(noise_multiplier=0.06, coordinates=1)], purpose="a sum")
    assert "up to an epsilon of 100" in str(found.value.hint)


def test_a_charge_states_what_it_costs_by_itself(ledger):
    first = ledger.charge([laplace(0.1), laplace(0.2)], purpose="two counts")
    noise = GaussianEvent(noise_multiplier=40.0, coordinates=1)
    second = ledger.charge([noise, EpsilonDeltaEvent(epsilon=0.1, delta=1e-7)], purpose="a sum")
    assert (first.epsilon_at(1e-6), first.delta) == (pytest.approx(0.3), 0.0)
    exact = epsilon_of(second.events, delta=1e-6)
    assert (second.epsilon_at(1e-6), second.delta) == (exact, 1e-7)
    assert 0.1 < exact < 0.3
    assert ledger.delta_left == pytest.approx(4e-7)


def test_a_question_is_answered_from_the_book(ledger):
    events = [laplace(0.6)]
    charge, answer = ledger.book(events, purpose="count", question="n", epsilon=0.6)
    assert answer is None
    assert ledger.answer(charge, "[3]") == "[3]"

    again, answer = ledger.book(events, purpose="count", question="n", epsilon=0.6)
    assert (again, answer) == (charge, "[3]")
    # An answer that was paid with more is as private as was paid for, and closer.
    assert ledger.book([laplace(0.1)], purpose="count", question="n", epsilon=0.1)[1] == "[3]"
    assert len(ledger.charges) == 1
    with pytest.raises(BudgetError):
        ledger.book([laplace(0.7)], purpose="count", question="n", epsilon=0.7)
    with pytest.raises(BudgetError):
        ledger.book(events, purpose="count", question="m", epsilon=0.6)


def test_a_booking_whose_process_died_is_answered_without_a_new_charge(ledger):
    first, _ = ledger.book([laplace(0.6)], purpose="count", question="n", epsilon=0.6)
    again, answer = ledger.book([laplace(0.6)], purpose="count", question="n", epsilon=0.6)

    assert again == first
    assert answer is None
    # Of two that answer, the first one's answer stands: two draws would average.
    assert ledger.answer(first, "[3]") == "[3]"
    assert ledger.answer(again, "[5]") == "[3]"


def test_analysts_pay_of_their_share_and_of_the_whole(ledger):
    ledger.allow("ann", epsilon=0.5)
    ledger.allow("bob", epsilon=0.8)
    ledger.charge([laplace(0.4)], purpose="count", analyst="ann")
    with pytest.raises(BudgetError, match="share"):
        ledger.charge([laplace(0.2)], purpose="count", analyst="ann")
    with pytest.raises(BudgetError, match="left of the budget"):
        ledger.charge([laplace(0.7)], purpose="count", analyst="bob")
    with pytest.raises(BudgetError, match="no share"):
        ledger.charge([laplace(0.1)], purpose="count", analyst="eve")

    assert ledger.share_of("ann") == (0.5, pytest.approx(0.4))
    assert ledger.share_of("bob") == (0.8, 0.0)


@pytest.mark.parametrize(
    "changed",
    [
        PEOPLE.reverse(),
        PEOPLE.head(2),
        PEOPLE.with_columns(age=pl.col("age").fill_null(0)),
        PEOPLE.with_columns(age=pl.col("age").cast(pl.Float64)),
        PEOPLE.rename({"age": "old"}),
        PEOPLE.with_columns(person=pl.Series(["ab", "", "b"])),
    ],
)
def test_another_table_is_refused(ledger, changed):
    ledger.check_table(PEOPLE)
    with pytest.raises(DataError, match="changed"):
        ledger.check_table(changed)


def test_a_fingerprint_is_the_same_in_each_format(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    found = {fingerprint_of(open_table(tmp_path / f"people.{form}")) for form in ("csv", "parquet")}
    assert found == {fingerprint_of(open_table(PEOPLE))}


def test_a_data_set_has_one_budget(ledger, tmp_path):
    with pytest.raises(VaultError, match="already"):
        PrivacyLedger.create(tmp_path / "vault", PEOPLE, dataset="people", epsilon=9.0, delta=1e-6)
    assert ledger.terms.epsilon == 1.0


@pytest.mark.parametrize("epsilon", [0, -1.0, float("inf"), float("nan"), "1", True])
def test_an_epsilon_that_is_none_is_refused(tmp_path, epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        PrivacyLedger.create(tmp_path / "v", PEOPLE, dataset="p", epsilon=epsilon, delta=1e-6)
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("dataset", ["", "../people", "a/b", ".hidden", "x" * 65])
def test_a_name_that_could_be_a_path_is_refused(tmp_path, dataset):
    with pytest.raises(ParameterError, match="dataset"):
        PrivacyLedger.create(tmp_path / "v", PEOPLE, dataset=dataset, epsilon=1.0, delta=0.0)


@pytest.mark.parametrize(
    "declared",
    [
        {"bounds": {"age": (9, 1)}},
        {"bounds": {"age": (0, float("inf"))}},
        {"bounds": {"age": (0, 1e300)}},
        {"bounds": {"age": (0, 1e-300)}},
        {"bounds": {"person": (0, 1)}},
        {"keys": {"age": [1, 1]}},
        {"keys": {"person": []}},
    ],
)
def test_declarations_that_no_question_could_use_are_refused(tmp_path, declared):
    """A budget is set once: they could not be mended."""
    with pytest.raises(ParameterError, match=f"'{next(iter(next(iter(declared.values()))))}'"):
        PrivacyLedger.create(
            tmp_path / "v", PEOPLE, dataset="p", epsilon=1.0, delta=0.0, **declared
        )
    assert not (tmp_path / "v").exists()


def test_rows_without_a_person_are_refused(tmp_path):
    unit = PrivacyUnit(person="age", max_rows=2)
    with pytest.raises(ParameterError, match="no person in 1 rows"):
        PrivacyLedger.create(tmp_path / "v", PEOPLE, dataset="p", epsilon=1.0, delta=0.0, unit=unit)


def test_bounds_of_persons_need_a_column():
    with pytest.raises(ParameterError, match="no column names them"):
        PrivacyUnit(max_rows=3)
    with pytest.raises(ParameterError, match="max_groups"):
        PrivacyUnit(person="id", max_groups=0)


def test_events_are_checked(ledger):
    with pytest.raises(ParameterError, match="events"):
        ledger.charge([], purpose="nothing")
    with pytest.raises(ParameterError, match="purpose"):
        ledger.charge([laplace(0.1)], purpose="")


def test_a_file_that_others_may_read_is_refused(ledger, tmp_path):
    (tmp_path / "vault" / "people.ledger").chmod(0o644)
    with pytest.raises(VaultError, match="0644"):
        ledger.charge([laplace(0.1)], purpose="count")


def test_a_damaged_file_is_refused(ledger, tmp_path):
    (tmp_path / "vault" / "people.ledger").write_bytes(b"no ledger" * 1000)
    with pytest.raises(IntegrityError):
        ledger.charge([laplace(0.1)], purpose="count")


def test_a_ledger_that_is_in_use_for_too_long_says_so(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.vault.private_database.PATIENCE", 0.05)
    other = sqlite3.connect(tmp_path / "vault" / "people.ledger", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(VaultError, match="in use"):
        ledger.charge([laplace(0.1)], purpose="count")
    other.close()
    ledger.charge([laplace(0.1)], purpose="count")


def test_the_terms_in_words_show_no_secret(ledger):
    words = repr(ledger) + ledger.terms.sentence()
    assert ledger.terms.fingerprint not in words
    assert ledger.terms.key not in words
    assert "adding or removing" in words


CLIENT = """
import sys
from halfmask import BudgetError
from halfmask.dp.accounting import LaplaceEvent
from halfmask.dp.ledger import PrivacyLedger
ledger = PrivacyLedger.open(sys.argv[1], dataset="people")
sys.stdout.write("ready\\n"), sys.stdout.flush(), sys.stdin.readline()
while True:
    try:
        ledger.charge([LaplaceEvent(noise_multiplier=50.0, coordinates=1)], purpose="a count")
    except BudgetError:
        break
    sys.stdout.write("answered\\n"), sys.stdout.flush()
"""


def clients(vault, number):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(vault)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(number)
    ]
    for client in started:
        assert client.stdout
        assert client.stdout.readline() == "ready\n"
    return started


def check_clients(ledger, vault, number, killed):
    """Let clients spend a budget of 50 charges, kill some at work, and count what was answered."""
    started = clients(vault, number)
    for client in started:
        client.stdin.write("\n")
        client.stdin.flush()
    answered = 0
    for client in started[:killed]:
        answered += client.stdout.readline() == "answered\n"
        os.kill(client.pid, signal.SIGKILL)
    for client in started:
        # Not by communicate(), which loses the lines that readline() took along.
        answered += client.stdout.read().count("answered\n")
        client.communicate()

    booked = len(ledger.charges)
    assert ledger.spent <= 1.0 + 1e-8
    # All of it can be spent: a process that died holds nothing.
    assert booked == 50
    # What was answered was booked; of what a killed process booked, the answer may be missing.
    assert booked - killed <= answered <= booked


@pytest.mark.slow
def test_64_processes_that_are_killed_never_overspend(tmp_path):
    ledger = PrivacyLedger.create(tmp_path / "v", PEOPLE, dataset="people", epsilon=1.0, delta=0.0)
    check_clients(ledger, tmp_path / "v", 64, killed=16)


def test_no_other_process_reads_a_sum_that_is_about_to_change(ledger, monkeypatch):
    taken = PrivacyLedger._check_left

    def and_another(self, run, events, analyst):
        taken(self, run, events, analyst)
        monkeypatch.setattr(PrivacyLedger, "_check_left", taken)
        with pytest.raises(VaultError, match="in use"):
            ledger.charge([laplace(0.9)], purpose="at the same time")

    monkeypatch.setattr("halfmask.vault.private_database.PATIENCE", 0.05)
    monkeypatch.setattr(PrivacyLedger, "_check_left", and_another)
    ledger.charge([laplace(0.9)], purpose="a count")
    assert len(ledger.charges) == 1


def test_charges_that_answers_may_have_chosen_are_filtered(tmp_path):
    """A sequence that was fixed before could be longer; see `tests/dp/accounting`."""
    ledger = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=1.0, delta=1e-6
    )
    sums = [GaussianEvent(noise_multiplier=20.0, coordinates=1)]
    for _ in range(14):
        ledger.charge(sums, purpose="a sum")
    with pytest.raises(BudgetError, match="smaller epsilon"):
        ledger.charge(sums, purpose="a sum")
    assert 0.9 < ledger.spent <= 1.0
    assert epsilon_of(sums * 16, delta=1e-6) < 1.0


def test_deltas_that_later_charges_spend_have_half(ledger):
    ledger.charge([laplace(0.1)], purpose="count")
    with pytest.raises(BudgetError, match="half of the budget's"):
        ledger.charge([EpsilonDeltaEvent(epsilon=0.1, delta=6e-7)], purpose="keys")
    ledger.charge([EpsilonDeltaEvent(epsilon=0.1, delta=5e-7)], purpose="keys")
    assert ledger.spent == pytest.approx(0.2)


GROWN = pl.concat(
    [PEOPLE, pl.DataFrame({"person": ["b", "c"], "age": [9, 5], "weight": [1.0, 2.0]})]
)


def reopened(tmp_path):
    return PrivacyLedger.open(tmp_path / "vault", dataset="people")


def test_a_new_version_of_the_table_has_the_same_budget(ledger, tmp_path):
    """What was spent on one version is spent for all, and no version starts over."""
    ledger.charge([laplace(0.6)], purpose="on the first version")
    grown = ledger.update(GROWN)
    assert (grown.terms.version, grown.terms.epsilon) == (2, 1.0)
    assert grown.spent == pytest.approx(0.6, rel=1e-4)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        grown.charge([laplace(0.5)], purpose="too much for both")
    grown.charge([laplace(0.4)], purpose="on the second version")
    with pytest.raises(BudgetError, match="Nothing was charged"):
        grown.update(PEOPLE).charge([laplace(0.01)], purpose="on the third one")
    assert reopened(tmp_path).spent == pytest.approx(1.0, rel=1e-4)


def test_only_the_newest_version_is_opened(ledger, tmp_path):
    with pytest.raises(DataError, match=r"PrivacyLedger\.update"):
        ledger.check_table(GROWN)
    ledger.update(GROWN)
    again = reopened(tmp_path)
    again.check_table(GROWN)
    with pytest.raises(DataError, match="changed since"):
        again.check_table(PEOPLE)
    assert "in all 2 versions of the table" in again.terms.sentence()
    assert again.terms.key == ledger.terms.key


def test_the_same_table_is_no_new_version(ledger, tmp_path):
    assert ledger.update(PEOPLE).terms == ledger.terms
    assert "version" not in ledger.terms.sentence()
    assert '"version"' not in reopened(tmp_path).terms.to_text()


def test_a_question_on_a_new_version_is_another_one(ledger):
    asked = {"purpose": "q", "question": "q", "epsilon": 0.3}
    charge, kept = ledger.book([laplace(0.3)], **asked)
    assert kept is None
    ledger.answer(charge, "the first answer")
    grown = ledger.update(GROWN)
    second, kept = grown.book([laplace(0.3)], **asked)
    assert (second.number, kept) == (2, None)
    grown.answer(second, "the second answer")
    assert grown.book([laplace(0.3)], **asked) == (second, "the second answer")
    assert ledger.book([laplace(0.3)], **asked) == (charge, "the first answer")


def test_an_open_ledger_of_the_version_before_has_the_same_budget(ledger):
    grown = ledger.update(GROWN)
    grown.charge([laplace(0.7)], purpose="on the new version")
    with pytest.raises(BudgetError, match="Nothing was charged"):
        ledger.charge([laplace(0.4)], purpose="on the old one")
    # Of two who update at the same time, the second one's version comes after the first one's.
    assert ledger.update(PEOPLE).terms.version == 3


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (GROWN.drop("age"), DataError),
        (GROWN.with_columns(more=1), DataError),
        (GROWN.cast({"age": pl.Float64}), DataError),
        (GROWN.with_columns(person=pl.lit(None, pl.String)), ParameterError),
    ],
)
def test_versions_that_the_terms_dont_fit_are_refused(tmp_path, table, error):
    unit = PrivacyUnit(person="person", max_rows=2)
    made = PrivacyLedger.create(
        tmp_path / "vault", PEOPLE, dataset="people", epsilon=1.0, delta=0.0, unit=unit
    )
    with pytest.raises(error):
        made.update(table)
    assert reopened(tmp_path).terms == made.terms


def test_a_ledger_of_versions_is_released_and_says_so(ledger, tmp_path):
    ledger.charge([laplace(0.5)], purpose="on the first version")
    ledger.update(GROWN).charge([laplace(0.4)], purpose="on the second version")
    manifest = release_ledger(reopened(tmp_path), tmp_path / "out")
    assert manifest.claims[0].about["neighbours"] == (
        "one row: added or removed, in all 2 versions of the table"
    )
    assert halfmask.verify(tmp_path / "out").holds
