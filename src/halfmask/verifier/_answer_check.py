"""The price of an answer, derived again from its question, sensitivities and scales."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask.verifier.checks import ClaimCount, VerifiedKind

if TYPE_CHECKING:
    from halfmask.claims import Claim

#: A quantile, and the ends of its interval.
_CHOICES: Final = ("quantile", "quantile-low", "quantile-high")
#: The noisy numbers that an aggregate is computed from.
_MEASURES: Final = {
    "distinct": {"distinct"},
    "sum": {"sum"},
    "mean": {"centred", "values"},
    "variance": {"centred", "squares", "values"},
    "quantile": set(_CHOICES),
}
#: The mechanisms of measures that take no added noise.
_NOISES: Final = {"persons": {"selection"}, **{each: {"exponential"} for each in _CHOICES}}
#: What may lie between two roundings of the same number.
_SLACK: Final = 1e-6


def check_answer(claim: Claim, files: tuple[Path, ...]) -> ClaimCount:
    """Derive each sensitivity from the question, each price from the scale, and add them up.

    Notes
    -----
    Nothing smaller than the stated price holds, and no larger one either: then a scale was changed.
    A claim that is no such question raises, and so doesn't hold.
    """
    epsilon, delta = (_number(claim.parameters[name]) for name in ("epsilon", "delta"))
    question: Any = claim.about["question"]
    unit: Any = claim.about["unit"]
    mechanisms: Any = claim.evidence["mechanisms"]
    groups = question["groups"]
    rows = 1 if unit["person"] is None else _whole(unit["max_rows"])
    most = 1 if unit["person"] is None or not groups else _whole(unit["max_groups"])
    due = {each["name"]: each for each in question["aggregates"]}
    used: dict[str, set[str]] = {name: set() for name in due}
    prices = []
    for each in mechanisms:
        for name in each["of"]:
            used[name].add(each["measure"])
            _check_grid(each, due[name])
        changed = [_changed(each, due[name], unit, rows) for name in each["of"]] or [1]
        is_free = each["measure"] == "missing" and _is_of_values(each, mechanisms, due)
        prices.append((0.0, 0.0) if is_free else _price(each, max(changed), most))
    selected = [each for each in mechanisms if each["measure"] == "persons"]
    is_private = any(each[1] is None for each in groups)
    # Earlier versions chose no ends: then the answer must have none, which nothing would pay for.
    no_ends = {n for n, it in due.items() if it["kind"] == "quantile" and used[n] == {"quantile"}}
    complete = (
        len(due) == len(question["aggregates"])
        and all(name in no_ends or used[name] in _measures(it) for name, it in due.items())
        and len(selected) == is_private
        and all(each["of"] for each in mechanisms if each not in selected)
    )
    found = math.fsum(price for price, _ in prices), math.fsum(paid for _, paid in prices)
    holds = (
        complete
        and _is_answer(files, groups, due, no_ends)
        and abs(found[0] - epsilon) <= epsilon * _SLACK
        and found[1] <= delta * (1 + _SLACK)
    )
    return ClaimCount(holds=holds, found={"epsilon": found[0], "delta": found[1]})


def _measures(aggregate: Mapping[str, Any]) -> list[set[str]]:
    """Return the noisy numbers that an aggregate may be computed from, in each way."""
    if aggregate["kind"] == "count":
        return [{"rows"}, {"values", "missing"}] if aggregate["of"] is None else [{"values"}]
    return [_MEASURES[aggregate["kind"]]]


def _is_of_values(
    stated: Mapping[str, Any], mechanisms: list[dict[str, Any]], due: Mapping[str, Any]
) -> bool:
    """Return whether missing cells are counted in the vector that counts the values of a column.

    Each row is in one of both counts, so a unit changes them together by as much as one of them.
    """
    vector = [it for it in mechanisms if it["measure"] in {"values", "missing"}]
    values = [it for it in vector if it["measure"] == "values" and {*stated["of"]} <= {*it["of"]}]
    columns = {due[name]["of"] for it in values for name in it["of"]} - {None}
    of_count = {"measure": "missing", "of": stated["of"]}
    return (
        len(values) == len(columns) == sum(it["measure"] == "missing" for it in vector) == 1
        and values[0] | of_count == stated
    )


def _check_grid(stated: Mapping[str, Any], aggregate: Mapping[str, Any]) -> None:
    """Raise unless the units of a grid are those between the bounds of the question."""
    if stated["measure"] in {"rows", "values", "missing", "distinct"}:
        return
    step = Fraction(_whole(stated["step"][0]), _whole(stated["step"][1]))
    low, high = (Fraction(repr(_number(bound))) for bound in aggregate["bounds"])
    if low > high or (math.ceil(low / step), math.floor(high / step)) != (
        stated["low"],
        stated["high"],
    ):
        raise ValueError("A grid lies outside of its bounds.")


def _changed(
    stated: Mapping[str, Any], aggregate: Mapping[str, Any], unit: Mapping[str, Any], rows: int
) -> int:
    """Return the most by which a unit changes a number in one group, in units of the grid."""
    measure = stated["measure"]
    if measure == "distinct" and aggregate["of"] == unit["person"]:
        return 1  # a person adds one value
    if measure in _CHOICES:
        at = Fraction(repr(_number(aggregate["at"])))
        return max(at.numerator, at.denominator - at.numerator) * rows
    if measure in {"rows", "values", "missing", "distinct"}:
        return rows
    low, high = _integer(stated["low"]), _integer(stated["high"])
    if measure == "sum":
        return max(abs(low), abs(high)) * rows
    middle = (low + high) // 2
    radius = max(high - middle, middle - low)
    shift = radius**2 // 2
    return (radius if measure == "centred" else max(shift, radius**2 - shift)) * rows


def _price(stated: Mapping[str, Any], changed: int, groups: int) -> tuple[float, float]:
    """Return epsilon and delta of a mechanism by its scale, with the sensitivity derived here."""
    scale = _number(stated["scale"])
    epsilon, delta = _number(stated["epsilon"]), _number(stated["delta"])
    if not (scale > 0 and epsilon > 0 and delta >= 0):
        raise ValueError("A negative price would pay for another mechanism.")
    measure, mechanism = stated["measure"], stated["mechanism"]
    if mechanism not in _NOISES.get(measure, {"laplace", "gaussian"}):
        raise ValueError("A mechanism isn't one of its measure.")
    norm = {"gaussian": math.sqrt(groups), "exponential": 1.0}.get(mechanism, float(groups))
    sensitivity = changed * norm
    if not math.isclose(sensitivity, _number(stated["sensitivity"]), rel_tol=1e-12):
        raise ValueError("A sensitivity isn't that of its question.")
    if mechanism == "laplace":
        return sensitivity / scale, 0.0
    if mechanism == "exponential":
        return groups * 2 * sensitivity / scale, 0.0
    if mechanism == "selection":
        # Of at most so many groups of one unit, each reaches the threshold alone.
        least = 1 + scale * max(0.0, math.log(groups / (2 * delta)))
        if _number(stated["threshold"]) < least:
            raise ValueError("A threshold is too low.")
        return sensitivity / scale, delta
    multiplier = scale / sensitivity
    if (
        not _gaussian_delta(epsilon, multiplier)
        <= delta
        < _gaussian_delta(epsilon * 0.97, multiplier)
    ):
        raise ValueError("A scale isn't that of its price.")
    return epsilon, delta


def _gaussian_delta(epsilon: float, multiplier: float) -> float:
    """Return the delta of Gaussian noise at an epsilon: Balle and Wang 2018, theorem 8."""
    a, b = 1 / (2 * multiplier), epsilon * multiplier
    return _normal(a - b) - math.exp(epsilon) * _normal(-a - b)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _is_answer(
    files: tuple[Path, ...], groups: list[Any], due: Mapping[str, Any], no_ends: set[str]
) -> bool:
    """Return whether a file has a line for each group, with all values of the question."""
    (path,) = files
    values = [f"{name}{end}" for name in due for end in ("", "_low", "_high")]
    # A column of keys may have a name of its own in the answer.
    expected = [*((each[2:] or each)[0] for each in groups), *values]
    # Lines end with a line feed alone: a key may hold other characters that end lines elsewhere.
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = [json.loads(line) for line in file]
    if any(each[1] is None for each in groups):  # as many as were selected
        n_groups = len(lines)
    else:
        n_groups = math.prod(
            len(each[1]["edges"]) - 1 if isinstance(each[1], dict) else len(each[1])
            for each in groups
        )
    absent = [f"{name}{end}" for name in no_ends for end in ("_low", "_high")]
    return len(lines) == n_groups and all(
        list(each) == expected and all(each[name] is None for name in absent) for each in lines
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError("It is no number.")
    return float(value)


def _integer(value: object) -> int:
    if type(value) is not int:
        raise TypeError("It is no whole number.")
    return value


def _whole(value: object) -> int:
    if _integer(value) < 1:
        raise ValueError("It is below 1.")
    return int(str(value))


KIND: Final = VerifiedKind(checks={"differential-privacy": ("accounted", check_answer)})
