"""What each kind of learner allows, what is claimed for it, and the weaknesses of its encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The kinds of learner whose predictions an encoding preserves.
Learner: TypeAlias = Literal["trees", "distances", "linear", "networks"]
Scope: TypeAlias = Literal["exact", "training rows", "paired start", "measured", "not invariant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerClaim:
    """That a learner predicts the same from encoded rows as from plain ones.

    Parameters
    ----------
    learner
        Which learners.
    scope
        ``"exact"``: for any row. ``"training rows"``: for those only. ``"paired start"``: if the
        first weights are transformed with the rows. ``"measured"``: no guarantee, measure it.
        ``"not invariant"``: predictions differ.
    condition
        What must hold for it.
    """

    learner: str
    scope: Scope
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """What an encoding lets others see.

    Parameters
    ----------
    name
        The word for it, the same in every artefact.
    columns
        The columns that have it, by their names at home.
    known_plaintext
        How many known rows undo it.
    """

    name: str
    columns: tuple[str, ...]
    known_plaintext: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How numeric columns are encoded for a kind of learner, and what is claimed for it."""

    numbers: Literal["ranks", "orthogonal", "turned", "affine"]
    claims: tuple[LearnerClaim, ...]


def _claims(*rows: tuple[str, Scope, str]) -> tuple[LearnerClaim, ...]:
    return tuple(LearnerClaim(learner=one, scope=two, condition=three) for one, two, three in rows)


_SAME = "the plain learner sees the same columns and rows in the same order"
_FITTED = f"{_SAME}; the codec is fitted to its training rows"
_SEEN = f"{_FITTED}; missing cells visible"
_BINS = "numbers to 1e-6; nearly all other rows"
_SCALED = "the plain learner sees standardised columns, and nothing scales them after encoding"

_VOTES = f"{_SCALED}; to the solver's tolerance, ties of votes aside"

PROFILES: Mapping[Learner, Profile] = {
    "trees": Profile(
        numbers="ranks",
        claims=_claims(
            ("histogram gradient boosting (scikit-learn)", "exact", f"{_SEEN}; to 200,000 rows"),
            (
                "gradient boosting (LightGBM)",
                "training rows",
                f"{_SEEN}; {_BINS}",
            ),
            ("decision tree", "training rows", f"{_SEEN}; at most 2**22 values a column"),
            ("random forest", "measured", "rows outside of a bootstrap sample may part elsewhere"),
            ("extra trees", "not invariant", "it draws thresholds between values"),
            ("nearest neighbours, linear models, networks", "not invariant", "distances are lost"),
        ),
    ),
    "distances": Profile(
        numbers="orthogonal",
        claims=_claims(
            ("nearest neighbours", "exact", f"{_SCALED}; ties of distances and votes aside"),
            ("support vectors, isotropic kernel", "exact", _VOTES),
            ("kernel ridge, isotropic kernel", "exact", f"{_SCALED}; the target is centred there"),
            ("ridge, L2 logistic regression", "exact", f"{_SCALED}; intercept not penalised"),
            ("least squares, discriminant analysis", "exact", _SCALED),
            ("lasso, naive Bayes, trees", "not invariant", "they look at one column at a time"),
        ),
    ),
    "linear": Profile(
        numbers="affine",
        claims=_claims(
            ("least squares", "exact", "with an intercept"),
            ("logistic regression without penalty", "exact", "where its maximum exists"),
            ("linear and quadratic discriminant analysis", "exact", "without shrinkage"),
            ("ridge, lasso, nearest neighbours, kernels, trees", "not invariant", "A isn't a turn"),
        ),
    ),
    "networks": Profile(
        numbers="turned",
        claims=_claims(
            ("network with gradient descent, momentum, weight decay", "paired start", _SCALED),
            ("nearest neighbours", "exact", f"{_SCALED}; ties of distances and votes aside"),
            ("support vectors, isotropic kernel", "exact", _VOTES),
            ("network with Adam, RMSprop or Adagrad", "not invariant", "steps by coordinate"),
            ("trees", "not invariant", "they look at one column at a time"),
        ),
    ),
}
CATEGORIES = _claims(
    ("categories, one-hot encoded elsewhere or declared categorical", "exact", "ties aside"),
    ("categories whose codes are taken for numbers", "not invariant", "codes have no order"),
)
SPLIT = _claims(
    ("categories that are split", "measured", "each code has fewer rows to learn from"),
    ("means by category, over all siblings", "exact", "asked by encode_siblings"),
)
LEARNERS: tuple[Learner, ...] = tuple(PROFILES)
BENT = _claims(("any learner", "measured", "a flow of this strength keeps no learner exact"))
GROUPED = _claims(
    ("any learner", "measured", "a matrix for each category keeps no pooled learner exact"),
)
