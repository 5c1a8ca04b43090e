"""KeyedHasher: keyed feature hashing as a transformer of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from halfmask._errors import ParameterError
from halfmask._random import secret_parameter, type_of_key
from halfmask.data.arrays import table_like
from halfmask.hashing._cells import arrow_of
from halfmask.hashing._plan import HashPlan, fit_plan, plan_of_schema
from halfmask.hashing._settings import HasherSettings
from halfmask.vault import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from halfmask.hashing._rows import HashedRows
    from halfmask.hashing._settings import Numbers

#: Settings that are sequences come back from JSON, and from a plan, as tuples.
_PARAMETERS = (
    "bits", "signed", "interactions", "numbers", "bins", "bins_per_octave", "categorical", "text",
    "ngrams", "characters", "sets", "name",
)  # fmt: skip


class KeyedHasher(
    TransformerMixin,  # type: ignore[misc] # scikit-learn ships no types
    BaseEstimator,  # type: ignore[misc] # the same
):
    """Hash rows into integers with a secret key.

    Each cell becomes an index below ``2 ** bits``: its SipHash-2-4 under the key of its column. All
    keys are derived from the secret. A trainer learns a weight for each index, but sees neither
    column names nor cell values.

    Parameters
    ----------
    secret
        The secret that all keys are derived from. Keep it in a vault to hash later rows alike.
    bits
        1 to 31. With fewer, more cells share an index, and a model is less exact.
    signed
        Whether each index has a sign, 1 or -1, that is derived from the key. The weights of cells
        that share an index then cancel out on average (Weinberger and others, 2009).
    interactions
        Groups of columns, such as ``[("town", "age")]``. The combination of their cells is hashed
        in addition to each cell.
    numbers
        ``"quantiles"``: ``bins`` bins of about equal numbers of rows. ``"log"``: a bin for each
        ``1 / bins_per_octave`` of a power of two, without a fit. ``"raw"``: the column's name is
        hashed, the number sent as a 32-bit float, exact for whole numbers up to ``2 ** 24``.
    bins
        How many bins of quantiles, at least 2.
    bins_per_octave
        How many bins each power of two is cut into: 1, 2, 4, 8 or 16.
    categorical
        Columns of numbers or dates that are hashed as categories: each value is one category.
        Decimals and times with more digits than 64 bits tell apart are an error.
    text
        Columns whose words are hashed, instead of the whole cell.
    ngrams
        The shortest and the longest run of words that is a feature; None for none.
    characters
        The shortest and the longest run of characters that is a feature; None for none.
    sets
        Columns of lists: each member is a feature.
    name
        Hashers of one secret and different names share no key: give one to each purpose.

    Attributes
    ----------
    plan_ : HashPlan
        The columns and bins of the fit.
    n_features_in_ : int
        How many columns were fitted.

    See Also
    --------
    halfmask.hashing.FileHasher : The same for tables in files.
    halfmask.hashing.LabelCodes : For what is to be predicted.

    Notes
    -----
    **Guarantees.** The same secret, name, settings and fit give the same integers for the same
    row, on every machine, in every process, compiled or not. Without the secret an index is a
    random number: nobody can hash candidates and compare, as with an unkeyed hash.

    Anyone who gets the rows sees which cells are equal, how often each occurs, and which occur
    together. With knowledge of the population this identifies the frequent cells. Also visible are
    the times and numbers of rows, ``"raw"`` numbers, and labels that `LabelCodes` didn't encode. An
    attacker who knows one row learns the meaning of its indices.

    **Edge cases.** A missing cell, NaN included, is a value of its own. An empty text is another.
    Infinity is in the outermost bin, and is refused with ``"raw"``. Whole numbers have the same
    hash in integer and in float columns. Each member of a set counts once. Words consist of ASCII
    letters, digits, ``_`` and all characters beyond ASCII; only ASCII letters become lower case.
    With ``numbers="log"`` or ``"raw"`` no fit is needed. A hasher that isn't fitted uses the
    columns of each table.

    Sources: Weinberger, Dasgupta, Langford, Smola, Attenberg, "Feature hashing for large scale
    multitask learning" (ICML 2009); Aumasson and Bernstein, "SipHash" (INDOCRYPT 2012).

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.vault import Secret
    >>> people = pl.DataFrame({"age": [41, 17, 33], "town": ["Bree", "Dale", "Bree"]})
    >>> hasher = KeyedHasher(secret=Secret.from_bytes(bytes(32)), bits=18).fit(people)
    >>> hasher.transform(people).shape
    (3, 262144)
    >>> rows = hasher.hash_batch(people)
    >>> bool((rows.indices[0] == rows.indices[2]).any())
    True

    Words of a text, members of a set, pairs of columns, and numbers in bins of powers of two:

    >>> hasher = KeyedHasher(
    ...     secret=Secret.from_bytes(bytes(32)),
    ...     bits=18,
    ...     signed=True,
    ...     numbers="log",
    ...     interactions=[("town", "age")],
    ...     text=["note"],
    ...     sets=["tags"],
    ... )
    >>> notes = pl.DataFrame({"note": ["a b", "b", ""], "tags": [["x"], [], ["x", "y"]]})
    >>> [len(row) for row in hasher.hash_batch(people.hstack(notes)).to_csr().tolil().rows]
    [6, 4, 5]
    """

    secret = secret_parameter("secret", Secret)

    def __init__(  # noqa: PLR0913 # scikit-learn's way: each setting is a parameter
        self,
        *,
        secret: Secret,
        bits: int = 22,
        signed: bool = False,
        interactions: Sequence[Sequence[str]] = (),
        numbers: Numbers = "quantiles",
        bins: int = 32,
        bins_per_octave: int = 4,
        categorical: Sequence[str] = (),
        text: Sequence[str] = (),
        ngrams: tuple[int, int] | None = (1, 1),
        characters: tuple[int, int] | None = None,
        sets: Sequence[str] = (),
        name: str = "hasher",
    ) -> None:
        self.secret = secret
        self.bits = bits
        self.signed = signed
        self.interactions = interactions
        self.numbers = numbers
        self.bins = bins
        self.bins_per_octave = bins_per_octave
        self.categorical = categorical
        self.text = text
        self.ngrams = ngrams
        self.characters = characters
        self.sets = sets
        self.name = name

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ANN401, ARG002 # any table; no use of y
        """Learn the columns of a table, and where the bins of its numbers begin.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            A frame of polars, pandas or pyarrow. An array's columns are called x0, x1, ...
        y
            Ignored.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        SchemaError, ColumnNotFoundError
            If a column can't be hashed, or one that was named isn't there.
        """
        return self.fit_batches([self._table(X, reset=True)])

    def fit_batches(self, batches: Iterable[object]) -> Self:
        """Fit as `fit` does, to frames that follow one another; each is looked at once.

        The bins are those of the same rows in one frame, however they are cut into batches.

        Parameters
        ----------
        batches
            Frames with the same columns, each read once.
        """
        settings, secret = self._settings(), self._secret()
        self.plan_ = fit_plan(batches, settings=settings, secret=secret)
        self.n_features_in_ = len(self.plan_.columns)
        return self

    def transform(self, X: Any) -> Any:  # noqa: ANN401 # any table; scipy ships no types
        """Return rows as a sparse matrix of ``float32``, with ``2 ** bits`` columns.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        NotFittedError
            If the hasher needs a fit and had none.
        SchemaError, ColumnNotFoundError
            If the columns aren't those of the fit.
        """
        self._check_fitted()
        return self.hash_batch(self._table(X, reset=False)).to_csr()

    def hash_batch(
        self,
        frame: Any,  # noqa: ANN401 # any table
        labels: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        classes: int = 2,
    ) -> HashedRows:
        """Hash the rows of a frame into rows to send.

        Parameters
        ----------
        frame
            A frame of polars, pandas or pyarrow, or an array.
        labels
            Codes of classes (`LabelCodes` makes them), or numbers: sent raw.
        weights
            How much each row counts.
        classes
            How many classes the codes have.

        Raises
        ------
        NotFittedError, SchemaError, ColumnNotFoundError
            As `transform` does.
        DataError
            If labels or weights aren't what may be sent.
        """
        self._check_fitted()
        return self._plan(frame).rows(frame, labels=labels, weights=weights, classes=classes)

    def hash_batches(self, frames: Iterable[object]) -> Iterator[HashedRows]:
        """Hash frames in order, on all processors, with few of them in memory.

        Parameters
        ----------
        frames
            Frames with the columns of the fit.
        """
        self._check_fitted()
        frames = iter(frames)
        for first in frames:
            yield from self._plan(first).batches(_prepend(first, frames))

    def to_bytes(self) -> bytes:
        """Return the fitted hasher without its key: JSON, to be sealed in a vault.

        Guarantees
        ----------
        `from_bytes` gives, with the same secret, a hasher that hashes as this one does. The bytes
        hold no key; they hold the names of columns and where bins begin.
        """
        check_is_fitted(self, "plan_")
        return self.plan_.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, *, secret: Secret) -> Self:
        """Return the hasher that bytes hold.

        Parameters
        ----------
        data
            What `to_bytes` returned.
        secret
            The secret of the fit.

        Raises
        ------
        DataError
            If they hold none, or one of another version.
        KeyMismatchError
            If it was fitted with another secret.
        """
        plan = HashPlan.from_bytes(data, secret=secret)
        parameters = {name: getattr(plan.settings, name) for name in _PARAMETERS}
        made = cls(secret=secret, **parameters)
        made.plan_ = plan
        made.n_features_in_ = len(plan.columns)
        return made

    def _plan(self, frame: object) -> HashPlan:
        if hasattr(self, "plan_"):
            plan: HashPlan = self.plan_
            return plan
        schema = arrow_of(frame).schema
        return plan_of_schema(schema, settings=self._settings(), secret=self._secret())

    def _settings(self) -> HasherSettings:
        return HasherSettings(**{name: getattr(self, name) for name in _PARAMETERS})

    def _secret(self) -> Secret:
        if not isinstance(self.secret, Secret):
            raise ParameterError(
                "The 'secret' parameter of KeyedHasher must be a Secret. "
                f"Got a {type_of_key(self.secret)}.",
                hint="Take one from a vault: vault.secret(name).",
            )
        return self.secret

    def _check_fitted(self) -> None:
        if self.numbers == "quantiles":
            check_is_fitted(self, "plan_")

    def _table(self, X: Any, *, reset: bool) -> Any:  # noqa: ANN401 # any table
        if hasattr(X, "schema") or hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__"):
            table = arrow_of(X)  # first: it says what is wrong with names in our words
            if reset or hasattr(self, "plan_"):
                validate_data(self, X, reset=reset, skip_check_array=True)
            if not table.num_rows:
                raise ParameterError("Found 0 rows. At least 1 is required.")
            return table
        X = table_like(X)
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return arrow_of(np.asarray(array))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.requires_fit = self.numbers == "quantiles"
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _prepend(first: object, rest: Iterator[object]) -> Iterator[object]:
    yield first
    yield from rest
