"""What the owner asks of a codec, of its columns and of its learner, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.encode._ticks import is_ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from halfmask.data import Schema


#: What the target is: classes or numbers.
Task: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What becomes of each column of a table."""

    dtypes: Mapping[str, pl.DataType]
    ordered: tuple[str, ...]
    coded: tuple[str, ...]
    target: str
    task: Task

    @classmethod
    def of(
        cls,
        dtypes: Mapping[str, pl.DataType],
        *,
        schema: Schema | None,
        target: str | None,
        task: Task | None,
    ) -> Roles:
        """Decide by the schema, or by the types where there is none."""
        if target is not None and target not in dtypes:
            raise ColumnNotFoundError.of([target], dtypes, where="the table")
        if schema is not None:
            schema.check(dtypes)
        features = [name for name in dtypes if name != target]
        if not features:
            raise SchemaError("The table has no column but the target.")
        is_number = {name: _is_number(name, dtypes[name], schema) for name in features}
        return cls(
            dtypes=dict(dtypes),
            ordered=tuple(name for name in features if is_number[name]),
            coded=tuple(name for name in features if not is_number[name]),
            target=target or "",
            task="classification" if target is None else _task(target, dtypes[target], task),
        )


def _is_number(name: str, dtype: pl.DataType, schema: Schema | None) -> bool:
    if schema is None:
        return is_ordered(dtype)
    column = schema[name]
    if column.role == "identifier" or column.kind in {"text", "geo"}:
        what = "an identifier" if column.role == "identifier" else f"of kind {column.kind}"
        raise SchemaError(
            f"Column {name!r} is {what}: a code for each of its values would protect nothing.",
            hint="Leave the column out of the table.",
        )
    if column.kind not in {"numeric", "datetime"}:
        return False
    if not is_ordered(dtype):
        raise SchemaError(
            f"Column {name!r} is declared {column.kind} and holds {dtype}.",
            hint="Read it with the type that it is of, or call it categorical.",
        )
    return True


def _task(target: str, dtype: pl.DataType, task: Task | None) -> Task:
    if task is not None:
        one_of(("classification", "regression"), owner="Codec.fit", task=task)
        if task == "regression" and not dtype.is_numeric():
            raise SchemaError(f"Column {target!r} holds {dtype}, which no regression predicts.")
        return task
    if dtype.is_integer():
        raise ParameterError(
            f"Target {target!r} holds integers: classes, or numbers?",
            hint='Say task="classification" or task="regression".',
        )
    return "regression" if dtype.is_numeric() else "classification"


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
            ("gradient boosting (LightGBM)", "training rows", f"{_SEEN}; {_BINS}"),
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
    ("any learner", "measured", "a matrix for each category keeps no pooled learner exact")
)


Missing: TypeAlias = Literal["visible", "hidden"]
Unseen: TypeAlias = Literal["error", "reserve"]
OutOfRange: TypeAlias = Literal["error", "extrapolate"]
Rows: TypeAlias = Literal["keyed", "kept"]
Precision: TypeAlias = Literal["cell", "column"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecSettings:
    """The parameters of :class:`Codec`, which documents them."""

    learner: Learner
    name: str
    missing: Missing
    unseen: Unseen
    out_of_range: OutOfRange
    rows: Rows
    strength: float
    by: str
    split: bool
    min_sibling_rows: int
    precision: Precision = "cell"  # plans of 0.1 don't say it

    def __post_init__(self) -> None:
        one_of(LEARNERS, owner="Codec", learner=self.learner)
        one_of(("visible", "hidden"), owner="Codec", missing=self.missing)
        one_of(("error", "reserve"), owner="Codec", unseen=self.unseen)
        one_of(("error", "extrapolate"), owner="Codec", out_of_range=self.out_of_range)
        one_of(("keyed", "kept"), owner="Codec", rows=self.rows)
        one_of(("cell", "column"), owner="Codec", precision=self.precision)
        number_between(0, 4, owner="Codec", strength=self.strength)
        integer_at_least(1, owner="Codec", min_sibling_rows=self.min_sibling_rows)
        if not self.name:
            raise ParameterError("The 'name' parameter of Codec must not be empty.")
        if self.strength and self.learner != "networks":
            raise ParameterError(
                f"The 'strength' parameter of Codec bends columns, which learner={self.learner!r} "
                "does not survive.",
                hint='Leave strength at 0, or use learner="networks".',
            )
        if self.by and PROFILES[self.learner].numbers == "ranks":
            raise ParameterError(
                f"The 'by' parameter of Codec needs a matrix, and learner={self.learner!r} has "
                "none.",
                hint='Leave it out, or use learner "distances", "linear" or "networks".',
            )

    def purpose(self, what: str) -> str:
        """Return the purpose of a key: codecs of different names share none."""
        return f"encode/1/{self.name}/{what}"
