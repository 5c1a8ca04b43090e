"""Format-preserving encryption of a column: digits stay digits, letters stay letters."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._validation import is_text
from halfmask.masks._check_digits import CheckDigits, check_digits, is_scheme_name
from halfmask.masks._ff1 import LEAST_DOMAIN, Ff1
from halfmask.masks._mask import MaskTraits
from halfmask.masks._token import put_in_place
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.masks._value_counts import ValueCounts

#: Letters and digits of other scripts have no alphabet here.
_FOREIGN: Final = r"[\p{L}\p{N}\p{M}&&[^\x00-\x7F]]"
#: Characters of a format: the first of its kind, and how many there are.
_KINDS: Final = {"0": 10, "A": 26, "a": 26}
#: The kind of each byte; a byte that is neither letter nor digit is a kind of its own.
_FORM: Final = np.arange(256, dtype=np.uint8)
for _first, _n in _KINDS.items():
    _FORM[ord(_first) : ord(_first) + _n] = ord(_first)
#: Encryptions of one number until it is valid. One in 97 is, or more.
_MOST_STEPS: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatPreserving(Pseudonym):
    """Encrypt letters and digits into letters and digits (FF1): the format stays.

    Parameters
    ----------
    keep_first, keep_last
        How many letters and digits at the beginning and the end are written unchanged.
    check_digits
        ``"card"``, ``"iban"`` or a module of python-stdnum such as ``"nl.bsn"``: valid numbers
        become valid numbers. All but ``"card"`` need the extra `pii`.
    on_invalid
        Whether a number with a wrong check digit is an error, or becomes another invalid number.
    domain, scope
        Where a value has the same pseudonym; see `Pseudonym`.

    Notes
    -----
    **Guarantees.** Each format's values are permuted under the key: different values stay
    different, and `reverse` finds them again. Digits, capital and small letters stay so. Other
    characters keep their place. Values of digits alone are encrypted as NIST SP 800-38G says.

    **Edge cases.** A format of less than a million values is refused, as NIST SP 800-38G Rev. 1
    requires; with check digits other than a card's, of less than a hundred million. Letters
    outside of A to Z are refused. Numbers are refused, since they lose leading zeros: read them
    as text. An IBAN keeps its country. Kept characters are part of the tweak.

    Sources: FF1, NIST SP 800-38G; cycle walking for check digits, Black and Rogaway 2002,
    "Ciphers with Arbitrary Finite Domains".

    Examples
    --------
    >>> plan = FormatPreserving(check_digits="card").fit("card", pl.String(), None, bytes(32))
    >>> cards = pl.Series("card", ["4111-1111-1111-1111", None])
    >>> written = plan.apply(cards, 0)
    >>> written[0][4], len(written[0]), plan.reverse(written).to_list()
    ('-', 19, ['4111-1111-1111-1111', None])
    """

    name: ClassVar[str] = "format-preserving"
    coarsens: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(keeps_equality=True)
    is_matchable: ClassVar[bool] = False
    needs_counts: ClassVar[bool] = False

    keep_first: int = field(default=0, metadata={"ge": 0})
    keep_last: int = field(default=0, metadata={"ge": 0})
    check_digits: str | None = None
    on_invalid: Literal["error", "encrypt"] = "error"

    def _check_together(self) -> None:
        if self.check_digits is None:
            return
        if not (is_text(self.check_digits) and is_scheme_name(self.check_digits)):
            raise ParameterError(
                "The 'check_digits' of FormatPreserving must be a name.",
                hint="Take 'card', 'iban', or a country and a number, such as 'nl.bsn'.",
            )
        if self.keep_last:
            raise ParameterError(
                "FormatPreserving can't keep last characters and compute check digits.",
                hint="Leave 'keep_last' out.",
            )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        kept = self.keep_first or self.keep_last or self.check_digits == "iban"
        return (
            "equality-leaking",
            "format-leaking",
            "nulls-visible",
            *(("partly-kept",) if kept else ()),
        )

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return String; see `Mask`."""
        if not isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
            raise SchemaError(
                f"Column {column!r} has the mask {self.name!r}, which is for text. "
                f"Got the type {dtype.base_type()}.",
                hint="Read the column as text, in a policy by dtypes of [input]: numbers lose "
                "leading zeros.",
            )
        return pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Encrypted:
        """Return the plan, which holds the key; see `Mask`."""
        self.written(column, dtype)
        made = hashlib.blake2b(key=key, digest_size=32, person=b"halfmask/ff1")
        scheme = None if self.check_digits is None else check_digits(self.check_digits)
        return _Encrypted(self, scheme, made.digest())


@dataclass(frozen=True, slots=True)
class _Encrypted:
    mask: FormatPreserving
    scheme: Callable[[str], CheckDigits] | None = field(repr=False)
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        return self._turned(column, back=False)

    def reverse(self, column: pl.Series) -> pl.Series:
        """Return the original values of released ones."""
        return self._turned(column, back=True)

    def _turned(self, column: pl.Series, *, back: bool) -> pl.Series:
        texts = column.cast(pl.String)
        values = texts.drop_nulls().unique(maintain_order=True)
        self._check_alphabet(values.alias(column.name))
        groups = list(self._groups(values))
        self._check(column.name, groups, back=back)
        turned = np.empty(len(values), object)
        for each in groups:
            turned[each.rows] = each.turned(back=back, column=column.name)
        return put_in_place(pl.Series(turned, dtype=pl.String), of=values, cells=texts)

    def _groups(self, values: pl.Series) -> Iterator[_Group]:
        """Yield the values of each format, as bytes in a row for each."""
        lengths = values.str.len_bytes().to_numpy()
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            some = values if len(rows) == len(values) else values.gather(rows)
            texts = np.frombuffer("".join(some.to_list()).encode(), np.uint8)
            texts = texts.reshape(len(rows), length)
            forms = _FORM[texts]
            if (forms == forms[:1]).all():
                yield _Group.of(rows, texts, forms[0].tobytes(), self)
                continue
            places = pl.DataFrame(
                {
                    "form": [it.tobytes().decode("latin-1") for it in forms],
                    "place": np.arange(len(rows)),
                }
            )
            for form, part in places.partition_by("form", as_dict=True).items():
                place = part["place"].to_numpy()
                yield _Group.of(rows[place], texts[place], str(form[0]).encode("latin-1"), self)

    def _check_alphabet(self, values: pl.Series) -> None:
        if (values.str.len_bytes() == values.str.len_chars()).all():
            return
        foreign = int(values.str.contains(_FOREIGN).sum())
        if foreign:
            raise DataError(
                f"Column {values.name!r} has {foreign} different values with letters or digits "
                f"outside of A to Z and 0 to 9, which its mask {self.mask.name!r} can't encrypt.",
                hint="Take the mask 'token' or 'reversible-token'.",
            )

    def _check(self, column: str, groups: Sequence[_Group], *, back: bool) -> None:
        """Raise for all values of too few forms, then for all wrong check digits."""
        small = sum(it.n_values for it in groups if it.is_small)
        if small:
            raise DataError(
                f"Column {column!r} has {small} different values with too few letters and digits "
                f"for its mask {self.mask.name!r}: FF1 needs formats of {LEAST_DOMAIN:,} values, "
                "and of a hundred times as many with some check digits.",
                hint="Take the mask 'token' or 'reversible-token'.",
            )
        invalid = sum(int((~it.valid).sum()) for it in groups)
        if invalid and self.mask.on_invalid == "error":
            raise DataError(
                f"Column {column!r} has {invalid} different values that aren't valid by the check "
                f"digits {self.mask.check_digits!r}.",
                hint="Take the policy and the key of the release."
                if back
                else "Correct them, or say on_invalid = 'encrypt'.",
            )


@dataclass(frozen=True, slots=True, repr=False)
class _Group:
    """Different values of one format, as bytes; `places` are those of letters and digits."""

    plan: _Encrypted
    rows: NDArray[np.intp]
    texts: NDArray[np.uint8]
    places: NDArray[np.intp]
    pattern: str
    scheme: CheckDigits | None
    valid: NDArray[np.bool_]

    @classmethod
    def of(
        cls, rows: NDArray[np.intp], texts: NDArray[np.uint8], form: bytes, plan: _Encrypted
    ) -> _Group:
        kinds = [chr(it) for it in form]
        places = np.array([at for at, kind in enumerate(kinds) if kind in _KINDS], np.intp)
        pattern = "".join(it for it in kinds if it in _KINDS)
        scheme = None if plan.scheme is None or not pattern else plan.scheme(pattern)
        valid = np.ones(len(texts), np.bool_)
        if scheme is not None:
            valid = scheme.valid(np.ascontiguousarray(texts[:, places]))
        return cls(plan, rows, texts, places, pattern, scheme, valid)

    @property
    def n_values(self) -> int:
        return len(self.texts)

    @property
    def is_small(self) -> bool:
        """Whether one of its permutations would be of too few values."""
        least = LEAST_DOMAIN if self.scheme is None else self.scheme.least
        moving = self.moving(valid=True)
        return len(moving) < 2 or math.prod(_KINDS[self.pattern[it]] for it in moving) < least

    def moving(self, *, valid: bool) -> list[int]:
        """Return the columns of letters and digits that are encrypted."""
        mask, n = self.plan.mask, len(self.places)
        fixed = {*range(mask.keep_first), *range(n - mask.keep_last, n)}
        if self.scheme is not None:
            fixed |= {*self.scheme.kept, *(self.scheme.computed if valid else ())}
        return [it for it in range(n) if it not in fixed]

    def turned(self, *, back: bool, column: str) -> list[str]:
        """Return the values, encrypted or decrypted."""
        numbers = np.ascontiguousarray(self.texts[:, self.places])
        if self.scheme is None:
            numbers = self._once(numbers, back=back, valid=True)
        else:
            for valid in (True, False):
                rows = self.valid == valid
                numbers[rows] = self._walked(
                    numbers[rows], self.scheme, back=back, valid=valid, column=column
                )
        texts = self.texts.copy()
        texts[:, self.places] = numbers
        return _cut(texts)

    def _walked(
        self,
        numbers: NDArray[np.uint8],
        scheme: CheckDigits,
        *,
        back: bool,
        valid: bool,
        column: str,
    ) -> NDArray[np.uint8]:
        """Encrypt until valid numbers are valid again, and invalid ones invalid."""
        rows = np.arange(len(numbers))
        for _ in range(_MOST_STEPS):
            if not rows.size:
                return numbers
            some = self._once(numbers[rows], back=back, valid=valid)
            if valid:
                scheme.complete(some)
            numbers[rows] = some
            rows = rows[scheme.valid(some) != valid]
        raise DataError(
            f"Column {column!r} has a format with hardly a valid number by the check digits "
            f"{self.plan.mask.check_digits!r}, so that its mask can't find one.",
            hint="Leave 'check_digits' out.",
        )

    def _once(self, numbers: NDArray[np.uint8], *, back: bool, valid: bool) -> NDArray[np.uint8]:
        moving = self.moving(valid=valid)
        computed = () if self.scheme is None or not valid else self.scheme.computed
        kept = [it for it in range(len(self.places)) if it not in {*moving, *computed}]
        kinds = [self.pattern[it] for it in moving]
        bases = np.array([ord(it) for it in kinds], np.uint8)
        cipher = Ff1(self.plan.key, [_KINDS[it] for it in kinds])
        # What stays is public, and binds the rest: the same digits behind two prefixes differ.
        mixed = "".join(kinds).encode() if len(set(kinds)) > 1 or kinds[0] != "0" else b""
        tweaks = np.empty((len(numbers), len(kept) + len(mixed)), np.uint8)
        tweaks[:, : len(kept)] = numbers[:, kept]
        tweaks[:, len(kept) :] = np.frombuffer(mixed, np.uint8)
        turn = cipher.decrypt if back else cipher.encrypt
        found = numbers.copy()
        found[:, moving] = turn(numbers[:, moving] - bases, tweaks) + bases
        return found


def _cut(texts: NDArray[np.uint8]) -> list[str]:
    """Return rows of bytes as texts."""
    whole, width = texts.tobytes(), texts.shape[1]
    if whole.isascii():
        text = whole.decode()
        return [text[at : at + width] for at in range(0, len(text), width)]
    return [whole[at : at + width].decode() for at in range(0, len(whole), width)]
