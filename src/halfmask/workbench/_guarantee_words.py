"""What each guarantee means, in a sentence with its numbers."""

from __future__ import annotations

from math import ceil, exp
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: By model; other models say their own sentence, and their numbers after it.
_WORDS: Final = {
    "k-anonymity": "Each person shares all quasi-identifiers with at least {k_others} others.",
    "distinct-l-diversity": "Each class has at least {l} different values of {column}.",
    "entropy-l-diversity": "In each class {column} is as varied as {l} equally frequent values.",
    "recursive-cl-diversity": "In each class the most frequent value of {column} is less than {c} "
    "times the {l}-th and all rarer ones together.",
    "t-closeness": "In each class {column} is distributed as in the whole table, to a distance of "
    "{t} (0 is equal, 1 is nothing in common).",
    "alpha-k-anonymity": "Each class has at least {k} rows, and no value of {column} has more than "
    "{alpha_share} of them.",
    "delta-disclosure-privacy": "In each class each value of {column} has between {delta_low} and "
    "{delta_high} times its share in the whole table.",
    "basic-beta-likeness": "In no class a value of {column} has more than {beta_more} times its "
    "share in the whole table.",
    "enhanced-beta-likeness": "In no class a value of {column} has more than {beta_more} times its "
    "share in the whole table, and frequent values have less.",
    "largest-risk": "Nobody is found again with a probability above {risk_share}: each class has "
    "at least {risk_rows} rows.",
    "average-risk": "On average, a person is found again with a probability of at most "
    "{risk_share}.",
    "sample-uniqueness": "At most {share_share} of the rows are unique on the quasi-identifiers.",
    "records-at-risk": "At most {share_share} of the rows have a risk above {risk_share}.",
    "population-uniqueness": "By an estimate, at most {share_share} of the population are unique "
    "on the quasi-identifiers.",
    "k-map": "Each row fits at least {k} people of the population.",
    "profitability-prosecutor": "For no row the expected loss reaches the benefit of "
    "{publisher_benefit} from its release, against attackers whose attack pays.",
    "profitability-prosecutor-no-attack": "An attack on a row, which gains {adversary_gain} if it "
    "succeeds, earns less than the {adversary_cost} that it costs.",
    "estimated-k-map": "By an estimate, each row fits at least {k} people of the population.",
    "delta-presence": "Each person of the population is in the table with a probability between "
    "{delta_min_share} and {delta_max_share}.",
    "largest-journalist-risk": "Nobody is found in the population with a probability above "
    "{risk_share}.",
    "average-journalist-risk": "On average, a person is found in the population with a probability "
    "of at most {risk_share}.",
    "journalist-records-at-risk": "At most {share_share} of the rows have a risk above "
    "{risk_share} in the population.",
    "marketer-risk": "An attacker who links every row to a person is right for at most "
    "{risk_share} of them.",
    "profitability-journalist": "For no row the expected loss in the population reaches the "
    "benefit of {publisher_benefit} from its release.",
    "profitability-journalist-no-attack": "An attack through the population, which gains "
    "{adversary_gain} if it succeeds, earns less than the {adversary_cost} that it costs.",
    "subset-k-anonymity": "Each person shares any {m} quasi-identifiers with at least {k_others} "
    "others.",
    "lkc-privacy": "For any {l} quasi-identifiers, at least {k} rows agree, and no value of "
    "{column} has more than {c_share} of them.",
    "differential-privacy": "Whether a person is in the table changes the probability of any "
    "release by a factor of at most {epsilon_high}, but for a probability of {delta}.",
}
#: Larger exponents are no different in words.
_MOST: Final = 700
#: Parameters of a guarantee that is added; a model's own come first.
STARTS: Final[Mapping[str, float | int | str]] = {
    "k": 5,
    "l": 2,
    "m": 2,
    "t": 0.3,
    "c": 0.5,
    "recursive-cl-diversity.c": 3,
    "alpha": 0.5,
    "delta": 1,
    "beta": 1,
    "risk": 0.1,
    "share": 0.05,
    "sampling_fraction": 0.1,
    "significance": 0.05,
    "estimated-k-map.estimator": "zero-truncated-poisson",
    "delta_min": 0,
    "delta_max": 0.5,
    "publisher_benefit": 1_200,
    "publisher_loss": 300,
    "adversary_gain": 300,
    "adversary_cost": 30,
}


def meaning(model: str, parameters: Mapping[str, Any], column: str | None, sentence: str) -> str:
    """Return what a guarantee says, with its numbers."""
    if model not in _WORDS:
        stated = ", ".join(f"{name} = {it}" for name, it in parameters.items())
        return f"{sentence} ({stated})"
    return _WORDS[model].format_map(_numbers(parameters, column))


def _numbers(parameters: Mapping[str, Any], column: str | None) -> dict[str, str]:
    """Return numbers as sentences need them: ``{k_others}`` is k - 1, ``{risk_share}`` per cent."""
    made = {"column": column or ""}
    for name, it in parameters.items():
        if not isinstance(it, int | float):
            continue
        made |= {
            name: f"{it:g}",
            f"{name}_share": f"{100 * it:.3g} %",
            f"{name}_others": f"{it - 1:g}",
            f"{name}_more": f"{it + 1:g}",
            f"{name}_rows": f"{ceil(1 / it - 1e-9):,}" if it else "",
            f"{name}_low": f"{exp(-min(it, _MOST)):.2g}",
            f"{name}_high": f"{exp(min(it, _MOST)):.3g}",
        }
    return made
