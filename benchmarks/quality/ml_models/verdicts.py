"""What attacks on membership reach by rows as they were, and what the library's verdicts say of it.

The first bars take every number. The library reads as resistance only what the same attack,
without protection, would have found: a bound of an attack that fails on the raw model, too, is
INVALID. So each bar says how many of its numbers are, and stands a second time without them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bars import Bar
from ml_models import membership
from ml_models.methods import OUR_METHODS
from ml_models.plan import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ml_models.store import Key, Store

Finding = dict[str, Any]

MOST_EXCESS = 0.03
MOST_TPR = 0.005
VERDICTS = ("broken", "resisted", "nothing to resist", "INVALID")
#: What `attack` counts as resisted, and what it asks of the raw model, unless told otherwise: the
#: cells were measured so. Lines have the first, scaled by the measure.
TOLERANCE, LEAST_POWER = 0.03, 0.05
#: The measures of rows as they were, by what tables call them.
MEASURES = {
    "accuracy": "balanced accuracy, original",
    "area": "AUC, original",
    "TPR at 1 % FPR": "TPR at 1 % FPR, original",
    "TPR at 0.1 % FPR": "TPR at 0.1 % FPR, original",
}
#: By whatever accuracy an attack has.
ACCURACY = "accuracy, original"
#: The models of the paper's table 1. Of boosting raw models tell little, which is no defect of it.
PAPERS = ("rf", "nn-large")
#: The attacks of table 1 with the measures that they have; the first is the paper's.
COLUMNS = (
    tuple(("black_box", measure) for measure in MEASURES),
    (*(("yeom", measure) for measure in MEASURES), ("gap", "accuracy")),
)
#: How the library's reasons begin, and what they say.
REASONS = {
    "does not succeed without": "the same attack on the raw model has too little power",
    "needs at least": "too few people",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and whose it is."""

    key: Key
    finding: Finding

    @property
    def valid(self) -> bool:
        return self.finding["verdict"] not in {"INVALID", "nothing to resist"}

    @property
    def attacked(self) -> str:
        return f"{self.key.data} {self.key.model}"

    @property
    def attack(self) -> str:
        return str(self.finding["attack"]).removeprefix("membership/")

    @property
    def measured(self) -> str:
        """The attack and the measure in few words."""
        measure = self.finding["measure"].partition(",")[0].removeprefix("balanced ")
        return f"{self.attack} {measure.replace('AUC', 'area')}"

    @property
    def has_power(self) -> bool:
        """Whether the attack finds enough on the raw model to say anything of a protected one."""
        power = self.finding["power_low"]
        needed = self.finding["tolerance"] * LEAST_POWER / TOLERANCE
        return power is not None and power >= needed

    @property
    def why_invalid(self) -> str:
        said = str(self.finding["why_invalid"])
        return next((why for start, why in REASONS.items() if said.startswith(start)), said)


def findings_of(line: dict[str, Any], attack: str, measure: str) -> list[Finding]:
    """Return a line's findings on everyone by parts of the names of the attack and the measure."""
    return [
        finding
        for finding in line["findings"]
        if attack in finding["attack"]
        and measure in finding["measure"]
        and finding["group"] == "everyone"
    ]


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """Count verdicts, all by their names."""
    counts = Counter(finding["verdict"] for finding in findings)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def in_words(counts: dict[str, int]) -> str:
    """Say counts of verdicts, those that there are."""
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n) or "-"


def bars(store: Store) -> list[Bar]:
    """Say what the attacks reach at most against ours, and at least against the raw model."""
    excess = "membership: worst upper 95 % bound of attack minus control, ours"
    tpr = "membership: worst TPR at 0.1 % FPR, ours"
    by_accuracy = _found(store, OUR_METHODS, ACCURACY)
    by_tpr = _found(store, OUR_METHODS, MEASURES["TPR at 0.1 % FPR"])
    return [
        *_worst(excess, by_accuracy, "excess_high", MOST_EXCESS),
        *_worst(tpr, by_tpr, "value", MOST_TPR),
        *_raw_is_broken(store),
    ]


def raw_models(store: Store) -> list[dict[str, Any]]:
    """Say for each raw model, attack and measure how often it is broken, and has power, by seeds.

    `broken` is what the library says of the raw model itself; `power` is more: what it asks before
    it says `resisted` of a protected one.
    """
    by_name: dict[tuple[str, str], list[Found]] = {}
    for each in _found(store, (RAW,), "original"):
        by_name.setdefault((each.attacked, each.measured), []).append(each)
    return [
        {
            "model": model,
            "measured": measured,
            "seeds": len(_models(found)),
            "broken": len(_models(found, _is_broken)),
            "power": len(_models(found, lambda each: each.has_power)),
            "power_low": _powers(found),
        }
        for (model, measured), found in sorted(by_name.items())
    ]


def _found(store: Store, methods: Iterable[str], measure: str) -> list[Found]:
    return [
        Found(key, finding)
        for key, line in store.lines.items()
        if key.kind in membership.KINDS and key.method in methods and "failed" not in line
        for finding in findings_of(line, "", measure)
    ]


def _powers(found: list[Found]) -> list[float]:
    """Return the lower bounds of power, seed by seed."""
    return [each.finding["power_low"] for each in sorted(found, key=lambda each: each.key.seed)]


def _worst(name: str, found: list[Found], number: str, goal: float) -> list[Bar]:
    """Return the bar of all findings and the one of those that aren't INVALID."""
    name_valid = f"{name}: only findings with a verdict"
    if not found:
        return [
            _bar(each, [], number, goal, "ours weren't attacked") for each in (name, name_valid)
        ]
    valid = [each for each in found if each.valid]
    reasons = Counter(each.why_invalid for each in found if not each.valid)
    why_not = "; ".join(f"{why} ({n})" for why, n in reasons.most_common())
    without = sorted({each.attacked for each in found} - {each.attacked for each in valid})
    invalid = f"{len(found) - len(valid)} INVALID" + (f": {why_not}" if why_not else "")
    bare = f"; none of {', '.join(without)}" if without else ""
    return [
        _bar(name, found, number, goal, f"{len(found)} findings, of these {invalid}"),
        _bar(
            name_valid,
            valid,
            number,
            goal,
            f"{len(valid)} of {len(found)} findings, the others are INVALID{bare}",
        ),
    ]


def _bar(name: str, found: list[Found], number: str, goal: float, why: str) -> Bar:
    worst = max(found, key=lambda each: float(each.finding[number]), default=None)
    if worst is None:
        return Bar(name=name, value=None, goal=goal, side="at most", why=why)
    value, why = float(worst.finding[number]), f"{why}; the worst: {_told(worst)}"
    return Bar(name=name, value=value, goal=goal, side="at most", why=why)


def _told(found: Found) -> str:
    key = found.key
    return (
        f"{key.data} {key.model}, {key.method} k={key.k}, seed {key.seed}, {found.attack}, "
        f"{found.finding['verdict']}"
    )


def _raw_is_broken(store: Store) -> list[Bar]:
    """Say by how much each raw model is broken; the first bar asks no bound, the others do."""
    found = [each for each in _found(store, (RAW,), "original") if each.key.model in PAPERS]
    by_line: dict[Key, float] = {}
    for each in found:
        if ACCURACY in each.finding["measure"]:
            reached = float(each.finding["excess"])
            by_line[each.key] = max(by_line.get(each.key, 0.0), reached)
    models = _models(found)
    return [
        Bar(
            name="membership: excess of the best attack on a raw model, the least over models",
            value=min(by_line.values(), default=None),
            goal=MOST_EXCESS,
            side="at least",
            why=f"{len(models)} raw models, as it is, without a bound"
            if models
            else "no raw model was attacked",
        ),
        _share("that some attack breaks by the library's verdict", found, _is_broken),
        _share(
            f"on which some attack has the power that a verdict of ours needs (lower bound "
            f"{LEAST_POWER:g}, scaled by the measure)",
            found,
            lambda each: each.has_power,
        ),
    ]


def _share(what: str, found: list[Found], holds: Callable[[Found], bool]) -> Bar:
    """Return the bar of how many raw models there is a finding of by which something holds."""
    models, which = _models(found), _models(found, holds)
    parts = []
    for model in sorted({each.attacked for each in found}):
        here = [each for each in found if each.attacked == model]
        names = dict.fromkeys(each.measured for each in here if holds(each))
        by_name = {
            name: len(_models([each for each in here if each.measured == name], holds))
            for name in names
        }
        told = ", ".join(f"{name} {n}" for name, n in by_name.items()) or "none"
        parts.append(f"{model} {len(_models(here, holds))} of {len(_models(here))} ({told})")
    return Bar(
        name=f"membership: share of raw models {what}",
        value=len(which) / len(models) if models else None,
        goal=1,
        side="at least",
        why="; ".join(parts) or "no raw model was attacked",
    )


def _is_broken(found: Found) -> bool:
    return bool(found.finding["verdict"] == "broken")


def _models(
    found: Iterable[Found], holds: Callable[[Found], bool] = lambda _: True
) -> set[tuple[str, int]]:
    """Return the models, one a seed, of which there is a finding by which something holds."""
    return {(each.attacked, each.key.seed) for each in found if holds(each)}
