"""The battery: verdicts, the power guard, and what an attack may not do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks import (
    Certain,
    ModelTarget,
    Outcome,
    SuccessCount,
    TableTarget,
    attack,
)


def target(leak: float = 0.0) -> ModelTarget:
    rows = np.zeros((4, 1))
    labels = np.zeros(4, dtype=int)
    return ModelTarget(
        model=leak, members=rows, member_labels=labels, non_members=rows, non_member_labels=labels
    )


@dataclass(frozen=True)
class Guess:
    """Is right as often as its target says, in as many trials as given."""

    name: ClassVar[str] = "test/guess"
    attacks: ClassVar[type] = ModelTarget
    trials: int = 10_000
    needed: int = 0

    def missing_inputs(self, target: ModelTarget) -> str:  # noqa: ARG002 # an Attack's
        return ""

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # same
        if target.model < 0:
            raise DataError("The model gave no prediction.")
        return (
            Outcome(
                attack=self.name,
                measure="share right",
                success=SuccessCount(round((0.5 + target.model) * self.trials), self.trials),
                control=Certain(0.5),
                needed=self.needed,
                needed_of="members",
            ),
        )


@dataclass(frozen=True)
class Both:
    """Is right by two measures; by one of them there are too few trials to say anything."""

    name: ClassVar[str] = "test/both"
    attacks: ClassVar[type] = ModelTarget

    def missing_inputs(self, target: ModelTarget) -> str:  # noqa: ARG002 # an Attack's
        return ""

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        (right,) = Guess().run(target, random_state=random_state)
        few = replace(right, attack=self.name, measure="AUC, original", needed=20_000)
        return replace(right, attack=self.name, measure="balanced accuracy, original"), few


def verdict(leak: float, unprotected: float | None, **settings: int) -> str:
    report = attack(
        target(leak),
        unprotected=None if unprotected is None else target(unprotected),
        attacks=[Guess(**settings)],
    )
    return report.findings[0].verdict


def test_an_attack_that_fails_is_resisted_only_if_it_works_without_protection():
    assert verdict(0.0, 0.4) == "resisted"
    assert verdict(0.0, 0.01) == "nothing to resist"
    assert verdict(0.0, 0.045) == "INVALID"
    assert verdict(0.0, None) == "INVALID"


def test_a_success_beyond_doubt_needs_no_guard():
    assert verdict(0.2, None) == "broken"
    assert verdict(0.2, 0.0) == "broken"


def test_no_difference_that_could_be_seen_is_not_resistance():
    # 50 trials can't tell 0.5 from 0.53.
    assert verdict(0.0, 0.4, trials=50) == "not shown"


def test_too_few_trials_show_nothing_and_say_how_many_are_needed():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Guess(trials=1000, needed=5000)])
    assert report.findings[0].verdict == "not shown"
    assert "5,000 members" in report.findings[0].why_not_shown
    assert "5,000 members" in report.findings[0].sentence
    assert not report.resisted


def test_an_attack_that_fails_to_run_is_invalid_never_a_risk_of_zero():
    report = attack(target(-1.0), unprotected=target(0.4), attacks=[Guess()])
    assert report.findings[0].verdict == "INVALID"
    assert "gave no prediction" in report.findings[0].why_invalid
    assert report.findings[0].risk.high == 1.0
    assert not report.resisted


def test_a_guard_that_fails_to_run_is_invalid_too():
    report = attack(target(0.0), unprotected=target(-1.0), attacks=[Guess()])
    assert report.findings[0].verdict == "INVALID"


@pytest.mark.parametrize("leak", [0.0, 0.009, 0.05, 0.4])
@pytest.mark.parametrize("trials", [300, 2_000])
def test_the_verdict_of_an_attack_does_not_hang_on_others(leak, trials):
    def alone(*more: Guess) -> Any:
        attacks = [Guess(trials=trials), *more]
        return attack(target(leak), unprotected=target(0.5), attacks=attacks).findings[0]

    one, many = alone(), alone(*[Guess()] * 20)
    assert one == many
    assert one.to_dict() == many.to_dict()


def test_measures_that_so_few_people_cant_have_are_left_out_and_said():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Both()])
    (finding,) = report.findings
    assert finding.outcome.measure == "balanced accuracy, original"
    assert report.resisted
    name, why = report.too_few[0]
    assert name == "test/both, AUC, original, everyone"
    assert why == "needs at least 20,000 members, has 10,000"
    assert report.to_dict()["too_few"] == [{"finding": name, "why": why}]
    for shown in (report.to_svg(), report._repr_html_()):
        assert why in shown
    assert "left out for too few people: 1" in repr(report)


def test_measures_that_are_asked_for_by_name_are_never_left_out():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Both()], measures=["AUC"])
    assert [each.verdict for each in report.findings] == ["not shown"]
    assert not report.resisted
    assert report.too_few == ()


def test_what_is_broken_beyond_doubt_is_not_left_out_for_too_few_people():
    report = attack(target(0.3), unprotected=target(0.4), attacks=[Both()])
    assert [each.verdict for each in report.findings] == ["broken", "broken"]


def test_measures_that_nobody_wants_are_left_out():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Both()], measures=["Accuracy"])
    (finding,) = report.findings
    assert finding.outcome.measure == "balanced accuracy, original"
    assert report.resisted
    assert report.to_dict()["measures"] == ["Accuracy"]
    whole = attack(target(0.0), unprotected=target(0.4), attacks=[Both()])
    assert json.loads(json.dumps(whole.to_dict()))["measures"] is None


def test_what_is_broken_by_a_wanted_measure_stays_broken():
    report = attack(target(0.3), unprotected=target(0.4), attacks=[Both()], measures=["auc"])
    assert [each.verdict for each in report.findings] == ["broken"]


def test_a_measure_may_show_its_power_by_one_that_is_left_out():
    @dataclass(frozen=True)
    class Trained(Both):
        def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
            accuracy, _ = super().run(target, random_state=random_state)
            if target.model > 0.1:
                return (accuracy,)
            trained = replace(
                accuracy, measure="accuracy, trained", control_measure=accuracy.measure
            )
            return accuracy, trained

    report = attack(target(0.0), unprotected=target(0.4), attacks=[Trained()], measures=["trained"])
    assert report.resisted


def test_an_attack_without_any_of_the_measures_is_left_out_and_one_that_fails_is_not():
    attacks: list[Any] = [Guess(), Both()]
    report = attack(target(0.0), unprotected=target(0.4), attacks=attacks, measures=["AUC"])
    assert [each.outcome.attack for each in report.findings] == ["test/both"]
    assert (report.left_out, report.skipped) == (("test/guess",), ())
    assert report.to_dict()["left_out"] == ["test/guess"]
    failed = attack(target(-1.0), unprotected=target(0.4), attacks=attacks, measures=["right"])
    assert [each.verdict for each in failed.findings] == ["INVALID"] * 3
    assert failed.left_out == ()


@pytest.mark.parametrize("measures", [["accuracy", "AUK"], ["AUK", "accuracy", "AUK "], ["AUK"]])
def test_a_measure_that_no_attack_has_is_invalid(measures):
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Both()], measures=measures)
    assert not report.resisted
    last = report.findings[-1]
    assert (last.verdict, last.outcome.measure) == ("INVALID", "AUK")
    assert last.why_invalid == "is measured by no attack that was run"
    assert len(report.findings) == len(set(map(str.strip, measures)))
    json.dumps(report.to_dict())
    assert "no attack" in report.to_svg()


@pytest.mark.parametrize("column", ["AUC", "share AUC", "'AUC'", "accuracy"])
def test_a_column_that_is_called_as_a_measure_is_none(column):
    @dataclass(frozen=True)
    class Secret(Both):
        def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
            right, _ = super().run(target, random_state=random_state)
            return (replace(right, measure=f"accuracy of {column!r}", column=column),)

    report = attack(target(0.0), unprotected=target(0.4), attacks=[Secret()], measures=["AUC"])
    assert [each.verdict for each in report.findings] == ["INVALID"]
    assert report.left_out == ("test/both",)
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Secret()], measures=["accuracy"])
    assert report.resisted


def test_names_of_measures_are_words_that_blanks_dont_change():
    report = attack(target(), unprotected=target(0.4), attacks=[Both()], measures=[" ACCURACY "])
    assert report.measures == ("ACCURACY",)
    assert report.resisted


def test_whose_measures_are_asked_for_of_nothing_gets_no_pass():
    table = TableTarget(released=pl.DataFrame({"a": [1]}), original=pl.DataFrame({"a": [1]}))
    report = attack(table, measures=["accuracy of nothing"])
    assert report.skipped
    assert not report.resisted


def test_measures_that_are_no_words_are_refused():
    with pytest.raises(ParameterError, match="must be a list of names of measures"):
        attack(target(), attacks=[Both()], measures="accuracy")


def test_a_report_turns_into_json_and_says_what_it_counted():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Guess()], random_state=3)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["resisted"] is True
    assert content["seed"] == 3
    assert content["findings"][0]["unprotected"] == pytest.approx(0.9)
    assert repr(report) == "AttackReport(1 resisted, 0 broken, 0 not shown, 0 INVALID, 0 skipped)"
    assert report.worst is report.findings[0]


def test_an_unknown_attack_is_named_with_a_hint():
    with pytest.raises(ParameterError, match="membership/liar"):
        attack(target(), attacks=["membership/liar"])


def test_an_attack_on_the_wrong_kind_of_target_is_refused():

    table = TableTarget(released=pl.DataFrame({"a": [1]}), original=pl.DataFrame({"a": [1]}))
    with pytest.raises(ParameterError, match="ModelTarget"):
        attack(table, attacks=[Guess()])
    with pytest.raises(ParameterError, match="kind of the target"):
        attack(table, unprotected=target(), attacks=[Guess()])


def test_a_guard_that_fails_to_run_hides_no_break():
    report = attack(target(0.2), unprotected=target(-1.0), attacks=[Guess()])
    assert report.findings[0].verdict == "broken"
    assert report.findings[0].why_invalid == ""


def test_a_tolerance_above_the_min_control_effect_is_refused():
    # Else what is unprotected and broken would count as resisting.
    with pytest.raises(ParameterError, match="min_control_effect"):
        attack(target(0.0), unprotected=target(0.1), attacks=[Guess()], tolerance=0.2)


@pytest.mark.parametrize("one", ["membership/gap", Guess()])
def test_a_single_attack_is_told_to_go_into_a_list(one):
    with pytest.raises(ParameterError, match="must be a list of attacks or their names"):
        attack(target(), attacks=one)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_of_numpy_go_into_reports(kind, tmp_path):
    report = attack(
        target(0.0),
        unprotected=target(0.4),
        attacks=[Guess()],
        tolerance=kind(0.03),
        min_control_effect=kind(0.05),
        confidence=kind(0.95),
        random_state=np.int64(3),  # type: ignore[arg-type] # that is the test
    )
    report.write(tmp_path / "attacks.json")

    content = json.loads((tmp_path / "attacks.json").read_text())
    assert content["seed"] == 3
    assert content["tolerance"] == pytest.approx(0.03)
    assert content["confidence"] == pytest.approx(0.95)
    wrong: Any
    for wrong in (np.float32(2), np.bool_(True)):
        with pytest.raises(ParameterError, match="tolerance"):
            attack(target(), tolerance=wrong)


def test_without_attacks_nothing_was_resisted(report_of):
    report = report_of()
    assert report.findings == ()
    assert not report.resisted
    assert report.worst is None


@pytest.mark.parametrize("given", [[], (), iter(())])
def test_an_empty_list_of_attacks_is_told(given):
    with pytest.raises(ParameterError, match=r"'attacks' parameter of attack .* Got an empty one"):
        attack(target(), attacks=given)


@pytest.mark.parametrize(
    ("given", "case"),
    [
        (3, "must be a list of attacks or their names. Got a value of type int"),
        ([7], "must be an attack or the name of one. Got a value of type int"),
        ([None], "Got a value of type NoneType"),
        ([ModelTarget], "Got a value of type type"),
        ([Guess], "Guess is a class of attacks, not one of them.\n\nHint: Write Guess()"),
    ],
)
def test_what_is_no_attack_is_told(given, case):
    with pytest.raises(ParameterError, match=re.escape(case)):
        attack(target(), attacks=given)


@pytest.mark.parametrize("given", [lambda rows: rows, None, ModelTarget, np.zeros(3)])
@pytest.mark.parametrize("attacks", [None, ["membership/gap"]])
def test_what_is_no_target_is_told(given, attacks):
    with pytest.raises(ParameterError, match=r"'target' parameter .* a target. Got a value of typ"):
        attack(given, attacks=attacks)


class Own(Guess):
    """Attacks a target of a caller's own."""

    name: ClassVar[str] = "test/own"
    attacks: ClassVar[type] = float

    def run(self, target: Any, *, random_state: int) -> tuple[Outcome, ...]:
        return super().run(globals()["target"](target), random_state=random_state)


def test_targets_of_ones_own_are_attacked_by_attacks_of_ones_own():
    given: Any = 0.4
    assert attack(given, attacks=[Own()]).findings[0].outcome.success.value == 0.9
    with pytest.raises(ParameterError, match="Attack 'test/own' is for a float"):
        attack(target(), attacks=[Own()])


def test_what_an_error_says_stays_on_one_line():
    report = attack(target(-1.0), unprotected=target(0.4), attacks=[Guess()])
    assert "\n" not in report.findings[0].sentence
    assert ".." not in report.findings[0].sentence


class Twice(Guess):
    """Measures the same thing of the same group twice: which is the control is unclear."""

    name: ClassVar[str] = "test/twice"

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        return super().run(target, random_state=random_state) * 2


def test_an_attack_that_measures_the_same_thing_twice_is_a_defect():
    with pytest.raises(ParameterError, match="twice"):
        attack(target(0.0), attacks=[Twice()])


@pytest.mark.slow
def test_a_report_is_as_sure_as_one_attack():
    # A leak that sits exactly at the tolerance: each attack is called resisted in 5 %, a report of
    # attacks is resisted only if each of them is.
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        leak = rng.binomial(2_000, 0.53) / 2_000 - 0.5
        report = attack(target(leak), unprotected=target(0.4), attacks=[Guess(trials=2_000)] * 5)
        wrong += report.resisted
    assert 0 < wrong <= 18


@dataclass(frozen=True)
class Two(Guess):
    """Measures changed rows only where there are such, and says what stands for them elsewhere."""

    name: ClassVar[str] = "test/two"

    def run(self, target: ModelTarget, *, random_state: int) -> tuple[Outcome, ...]:
        (found,) = Guess.run(self, target, random_state=random_state)
        if target.model > 0:
            return (found,)
        return (found, replace(found, measure="changed rows", control_measure="share right"))


def test_a_measure_that_raw_data_dont_have_shows_its_power_by_another():
    report = attack(target(0.0), unprotected=target(0.4), attacks=[Two()])
    assert [finding.verdict for finding in report.findings] == ["resisted", "resisted"]
    alone = attack(target(0.0), unprotected=target(0.01), attacks=[Two()])
    assert [finding.verdict for finding in alone.findings] == ["nothing to resist"] * 2


@pytest.mark.parametrize(
    ("trials", "same", "expected"),
    [
        (10_000, False, "nothing to resist"),
        (10_000, True, "INVALID"),  # a target can't be its own control
        (300, False, "INVALID"),  # .05 may be there, and not be seen
    ],
)
def test_a_raw_model_that_hardly_leaks(trials: int, same: bool, expected: str):  # noqa: FBT001 # drawn
    protected = target(0.0)
    raw = replace(protected) if same else target(0.001)
    report = attack(protected, unprotected=raw, attacks=[Guess(trials=trials)])

    assert [finding.verdict for finding in report.findings] == [expected]
    assert (report.passed, report.resisted) == (expected == "nothing to resist", False)
