"""Measures that are wanted of attacks, by words of their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask.assess.attacks._several import several

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halfmask.assess.attacks._finding import Finding
    from halfmask.assess.attacks._outcome import Outcome


def wanted_measures(measures: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the words that are asked for, each once; None if every measure is."""
    if measures is None:
        return None
    words = several(measures, parameter="measures", owner="attack", of="names of measures")
    if isinstance(measures, set | frozenset):
        words = tuple(sorted(words, key=str))  # so that the report doesn't hang on hashes
    found: dict[str, str] = {}
    for word in words:
        if not isinstance(word, str) or not word.strip():
            got = repr(word) if isinstance(word, str) else f"a value of type {type(word).__name__}"
            raise ParameterError(
                "The 'measures' parameter of attack must be a list of names of measures. "
                f"Got {got} in it.",
                hint="Such as ['accuracy', 'AUC'], or other words of the names in a report.",
            )
        found.setdefault(word.strip().casefold(), word.strip())
    return tuple(found.values())


def only(outcomes: Iterable[Outcome], words: Iterable[str]) -> tuple[Outcome, ...]:
    """Return the outcomes whose measure has any of the words in its name, small or large.

    Examples
    --------
    >>> from halfmask.assess.attacks import SuccessCount, Outcome
    >>> arm = SuccessCount(5, 10)
    >>> rare = Outcome(attack="a", measure="TPR at 0.1 % FPR", success=arm, control=arm)
    >>> len(only([rare], ["tpr"])), len(only([rare], ["1 % FPR"])), len(only([rare], ["T"]))
    (1, 0, 0)
    """
    return tuple(each for each in outcomes if any(_is_called(each, word) for word in words))


def affordable(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings to report, and those whose measure so few people can't have.

    A measure is only left out if its attack has another one for the same people and column: an
    attack with too few people by every measure is reported as not shown.
    """
    kept = [finding for finding in findings if not _is_short(finding)]
    there = {_people_of(finding.outcome) for finding in kept}
    short = [each for each in findings if _is_short(each) and _people_of(each.outcome) in there]
    return [each for each in findings if each not in short], short


def _is_short(finding: Finding) -> bool:
    """Whether it is undecided for want of the trials that its measure needs at least."""
    return finding.has_few and finding.verdict == "not shown"


def _people_of(outcome: Outcome) -> tuple[str, str, str]:
    return outcome.attack, outcome.group, outcome.column


def without_outcome(outcomes: Iterable[Outcome], words: Iterable[str]) -> list[str]:
    """Return the words that are in the name of no outcome's measure."""
    there = list(outcomes)
    return [word for word in words if not any(_is_called(each, word) for each in there)]


def _is_called(outcome: Outcome, word: str) -> bool:
    """Tell whether whole words of the measure are these; what a column is called doesn't count."""
    whole = rf"(?<![\w.]){re.escape(word)}(?!\w)"
    return re.search(whole, outcome.kind, re.IGNORECASE) is not None
