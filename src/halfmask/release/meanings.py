"""What claims mean, in plain words with their numbers, for the summary of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from halfmask.claims import Claim

_DP: Final = (
    "Whether one {one} is in the table or not changes the chance of any outcome by a factor of "
    "{factor} at most"
)
#: By the model, or the model and a parameter; what isn't here is stated by its name.
_MEANINGS: Final[Mapping[str, str]] = {
    "true-values": "Published values are the true ones.",
    "additive": "Where all parts of a total are published, the total is their sum.",
    "hidden-intervals least_width": "From the published cells alone, no hidden count can be "
    "computed to an interval narrower than {least_width:g}.",
    "hidden-intervals least_share": "From the published cells alone, no hidden sum can be computed "
    "to an interval narrower than {least_share:.2%} of its end that is farther from 0.",
    "protected-cells": "Each cell that breaks a rule is hidden, and stays as uncertain as the rule "
    "demands.",
    "earlier-tables": "The same holds together with {releases} earlier releases.",
    "multiples": "Each number of {columns} is a multiple of {base:g}.",
    "deviations": "No value differs from the true one by more than {at_most:g}.",
    "minimum-count": "Each count is 0, or at least {n}.",
    "groups-of-k": "Each combination of {columns} is in at least {k} rows.",
    "bounded low high": "Each number of {columns} lies between {low:g} and {high:g}.",
    "bounded low": "No number of {columns} is below {low:g}.",
    "bounded high": "No number of {columns} is above {high:g}.",
    "truncated-dates": "Each date of {columns} is the first of its {unit}.",
    "copied-rows": "{copied_of_few:,} of {rows:,} drawn rows equal a row that at most 5 people "
    "have.",
    "session-k": "What a {unit} shows in {fields} is shown by {k} or more people or other entities "
    "in each window.",
    "k-m": "Each set of at most {m} values that a {unit} shows in {fields} is shown by {k} or more "
    "people or other entities in each window.",
    "distinct": "Each value of {fields} is shown by {k} or more people or other entities in each "
    "window.",
    "cells min-entities": "Each written cell counts {min-entities} or more people or other "
    "entities.",
    "cells min-events": "Each written cell counts {min-events} or more events.",
    "differential-privacy": f"{_DP}.",
    "differential-privacy delta": f"{_DP}, and by {{delta:g}} more.",
}
#: They say that the files are whole, and protect nobody.
_PLAIN: Final = ("released-columns", "rows-of-table", "references-hold", "unchanged-cells")


def stated_parameters(parameters: Mapping[str, object]) -> str:
    """Return parameters as a policy has them."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


def meanings(claims: Sequence[Claim]) -> list[str]:
    """Return what claims mean for people, each once; those that protect nobody are left out.

    Notes
    -----
    **Guarantees.** A claim that nobody verified, or of an unknown model, is stated by its name.
    """
    return list(dict.fromkeys(_meaning(it) for it in claims if it.model not in _PLAIN))


def _meaning(claim: Claim) -> str:
    given = dict(_numbers(claim))
    known = [name for name in claim.parameters if claim.parameters[name]]
    names = (f"{claim.model} {' '.join(known)}", *(f"{claim.model} {it}" for it in reversed(known)))
    said = next((_MEANINGS[it] for it in (*names, claim.model) if it in _MEANINGS), None)
    if said is None or claim.basis not in {"counted", "accounted"} or "factor" not in given:
        return claim.sentence()
    try:
        words = said.format_map(given)
    except (KeyError, ValueError):  # of another program, which states less
        return claim.sentence()
    numbers = stated_parameters(claim.parameters)
    return f"{words} ({claim.model}{f': {numbers}' if numbers else ''})"


def _numbers(claim: Claim) -> Iterator[tuple[str, Any]]:
    """Yield what a meaning can name; no factor where epsilon is for other neighbours."""
    about: Mapping[str, Any] = claim.about
    yield from {**claim.evidence, **about, **claim.parameters}.items()
    columns = [str(it) for it in about.get("columns") or ()]
    yield "columns", ", ".join(columns) or "the tables"
    fields = [".".join(it).replace(".[]", "[]") for it in about.get("fields") or ()]
    yield "fields", ", ".join(fields)
    unit = about.get("unit")
    person = unit.get("person") if isinstance(unit, Mapping) else unit not in {None, "row"}
    yield "one", "person" if person else "row"
    if "neighbours" not in about or "add" in str(about["neighbours"]):
        yield "factor", _factor(claim.parameters.get("epsilon", 0))


def _factor(epsilon: object) -> str:
    """Return e to the epsilon, rounded up, or as a power where nobody reads the number."""
    number = float(str(epsilon))
    return f"{math.ceil(math.exp(number) * 100) / 100:,.2f}" if number < 10 else f"e^{epsilon}"
