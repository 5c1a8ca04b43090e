"""Columns of text that are nearly all numbers, dates or times: how they are written, and how many.

A form is what a user can declare, and it is tried by the reader itself: what is found here is read
there.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import polars as pl

from halfmask._errors import ColumnWarning
from halfmask.data._column_types import written_as
from halfmask.data._declarations import Declaration
from halfmask.data.cell_formats import dtype_of_format, pattern_of
from halfmask.data.value_patterns import PATTERNS

#: From these shares of a column's cells on it is taken to be of a form, markers left out.
NEARLY_DATES, NEARLY_NUMBERS = 0.95, 0.99
# A fit says of columns from this share on that they may be numbers or dates.
_WORTH_SAYING = 0.9
# So many cells of the first batch say which forms are counted in all.
_LOOKED_AT = 1_000
_ALIVE = 0.5
# Digits alone are dates only of years that people live in; 14102100 is an hour of 2014 elsewhere.
_THIS_YEAR = dt.datetime.now(tz=dt.UTC).year
_YEARS = (1850, _THIS_YEAR + 10)
_NUMBER = r"^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$"
_ZEROS = r"^\D*0\d"
_CODE = r"\p{L}.*\d|\d.*\p{L}"
_UNITS = (
    "%", "\u2030", "\u20ac", "$", "\u00a3", "\u00a5", "EUR", "USD", "GBP", "CHF", "JPY", "CNY",
    "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "BRL", "MXN", "ZAR", "TRY",
    "RUB",
)  # fmt: skip
_EXAMPLES = ("1234.5", "1,234.5", "1234,5", "1.234,5", "1 234,5", "1'234.5")
# Of formats that read as many cells, the first is proposed.
_DAYS = (
    "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%b-%Y",
    "%d-%B-%Y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
    "%a, %d %b %Y", "%A, %B %d, %Y", "%A, %d %B %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y",
    "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%d-%b-%y", "%d %b %y",
)  # fmt: skip
_CLOCKS = ("%H:%M", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p")
_DIGITS = ("%Y%m%d", "%d%m%Y", "%m%d%Y", "%Y%m%d%H%M%S")
_LOGS = (
    "%Y-%m-%d %H:%M:%S%.f %z", "%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y", "%Y%m%d %H:%M", "%Y-%m-%d %I:%M %p", "%Y-%m-%d %I:%M:%S %p",
)  # fmt: skip
_FORMATS = (*_DAYS, *(f"{day} {clock}" for day in _DAYS for clock in _CLOCKS), *_DIGITS, *_LOGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """How nearly all texts of a column are written, and how many aren't. Holds no cell."""

    dtype: str
    date_format: str | None = None
    first_year: int | None = None
    number_format: str | None = None
    fits: int = 0
    marks: int = 0
    others: int = 0
    codes: int = 0
    also: str | None = None

    @property
    def is_number(self) -> bool:
        """Whether the texts stand for numbers."""
        return self.dtype in {"integer", "float"}

    def read(self, texts: pl.Series) -> pl.Series:
        """Return the values that texts of this form stand for; null for other texts."""
        form = _Form(
            dtype=self.dtype,
            date_format=self.date_format,
            first_year=self.first_year,
            number_format=self.number_format,
        )
        return form.reads(texts)

    @property
    def share(self) -> float:
        """The share of cells that are so, markers left out."""
        return self.fits / (self.fits + self.others) if self.fits else 0.0

    @property
    def unread(self) -> int:
        """How many cells with a text aren't read by this form."""
        return self.marks + self.others

    @property
    def spelling(self) -> str:
        """How they are written, in a word."""
        return self.date_format or self.number_format or self.dtype

    @property
    def declared(self) -> str:
        """The declaration by which the texts are read, as a policy writes it."""
        if self.number_format:
            return f'number_formats = "{self.number_format}"'
        if self.date_format is None:
            return f'dtypes = "{self.dtype}"'
        more = f" with first_years = {self.first_year}" if self.first_year else ""
        return f'date_formats = "{self.date_format}"{more}'

    @property
    def holds(self) -> bool:
        """Whether so many cells are of this form that the others are mistakes."""
        if self.is_number and self.codes:
            return False  # a list of codes may have many that are digits alone
        if self.is_number:
            return self.share >= NEARLY_NUMBERS or (self.others == 1 and self.fits >= 20)
        return self.share >= NEARLY_DATES

    def counted(self) -> str:
        """Return how many cells don't fit the form, as a sentence; empty if all do."""
        if not self.unread:
            return ""
        marks = f" ({self.marks:,} are markers such as NA)" if self.marks else ""
        return f"{self.unread:,} of {self.fits + self.unread:,} cells don't fit{marks}."


class _Tally:
    """The forms of one column: how many cells each reads, of all batches."""

    def __init__(self) -> None:
        self._fits: Counter[_Form] = Counter()
        self._codes: Counter[_Form] = Counter()
        self._alive: list[_Form] | None = None
        self._marks = self._seen = 0
        # Cells that two forms read, and not as the same value.
        self._apart: Counter[tuple[_Form, _Form]] = Counter()
        #: Whether each text is a number just as a reader would have made one of it.
        self.plain = True

    @property
    def alive(self) -> bool:
        return self._alive != []

    def see(self, texts: pl.Series) -> None:
        counted = texts.drop_nulls().alias("text").value_counts(name="n")
        different, counts = counted["text"], counted["n"]
        if not len(different):
            return
        marks = different.str.contains(PATTERNS["missing"].regex)
        self._marks += int(counts.filter(marks).sum())
        different, counts = different.filter(~marks), counts.filter(~marks)
        self._seen += int(counts.sum())
        if not len(different):
            return
        if self.plain:
            self.plain = bool(written_as(different, pl.Float64()).all())
        if self._alive is None:
            step = max(1, len(different) // _LOOKED_AT)
            some = different.gather_every(step)
            self._alive = [f for f in _matched(some) if f.reads(some).is_not_null().mean() > _ALIVE]  # type: ignore[operator] # of no empty column
        self._count(different, counts)
        self._alive = [f for f in self._alive if self._fits[f] >= _ALIVE * self._seen]

    def __add__(self, other: _Tally) -> _Tally:
        found = _Tally()
        found._fits = self._fits + other._fits
        found._codes = self._codes + other._codes
        found._apart = self._apart + other._apart
        found._marks, found._seen = self._marks + other._marks, self._seen + other._seen
        found.plain = self.plain and other.plain
        if self._alive is None or other._alive is None:
            found._alive = other._alive if self._alive is None else self._alive
        else:  # counted in all rows of both
            found._alive = [form for form in self._alive if form in other._alive]
        return found

    def _count(self, different: pl.Series, counts: pl.Series) -> None:
        read = {form: form.reads(different) for form in self._alive or ()}
        for form, values in read.items():
            self._fits[form] += int(counts.filter(values.is_not_null()).sum())
            if values.null_count():
                codes = values.is_null() & different.str.contains(_CODE)
                self._codes[form] += int(counts.filter(codes).sum())
        for one, values in read.items():
            for other, others in read.items():
                if one.dtype == other.dtype and (values != others).any():
                    self._apart[one, other] += 1

    def found(self) -> TextForm | None:
        if not self._fits or not self._alive:
            return None
        most = max(self._fits[form] for form in self._alive)
        best = next(form for form in self._alive if self._fits[form] == most)
        also = [
            form.spelling
            for form in self._alive
            if self._fits[form] == most and self._apart[best, form]
        ]
        return TextForm(
            dtype=best.dtype,
            date_format=best.date_format,
            first_year=best.first_year,
            number_format=best.number_format,
            fits=most,
            marks=self._marks,
            others=self._seen - most,
            codes=self._codes[best],
            also=also[0] if also else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """One way in which texts may be written."""

    dtype: str
    date_format: str | None = None
    first_year: int | None = None
    number_format: str | None = None

    @property
    def spelling(self) -> str:
        return self.date_format or self.number_format or self.dtype

    def reads(self, texts: pl.Series) -> pl.Series:
        """Return what the reader makes of texts that may well be of this form."""
        declaration = Declaration(
            dtype=_DTYPES[self.dtype],
            date_format=self.date_format,
            first_year=self.first_year,
            number_format=self.number_format,
        )
        if self.dtype in {"integer", "float"}:
            # Zeros in front are the user's to drop; "nan" is a marker.
            texts = texts.set(texts.str.contains(_ZEROS), None)
            if self.number_format is None:
                texts = texts.set(~texts.str.contains(_NUMBER), None)
        values = declaration.read(texts)
        if self.date_format in _DIGITS:
            values = values.set(~values.dt.year().is_between(*_YEARS), None)
        return values


_DTYPES: dict[str, pl.DataType] = {
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
    "datetime_utc": pl.Datetime("us", "UTC"),
}
_WORDS = {each: word for word, each in _DTYPES.items()}


@cache
def _date_forms() -> tuple[_Form, ...]:
    first_year = _THIS_YEAR - 99
    of_formats = (
        _Form(
            dtype=_WORDS[dtype_of_format(each)],
            date_format=each,
            first_year=first_year if "%y" in each else None,
        )
        for each in _FORMATS
    )
    return (*(_Form(dtype=word) for word in ("date", "datetime", "datetime_utc")), *of_formats)


def _forms(texts: pl.Series) -> Iterator[_Form]:
    """Yield the forms that some texts may have; dates first, as eight digits are a number, too."""
    # A date has a digit; most columns of words are done with here.
    if not texts.str.contains(r"\d").mean() > _ALIVE:  # type: ignore[operator] # of no empty column
        return
    if texts.str.len_chars().median() >= 6:  # type: ignore[operator] # as above
        yield from _date_forms()
    yield _Form(dtype="integer")
    yield _Form(dtype="float")
    before, after = _around(texts)
    for example in _EXAMPLES if before + after else _EXAMPLES[1:]:
        yield _Form(dtype="float", number_format=f"{before}{example}{after}")


def _matched(texts: pl.Series) -> list[_Form]:
    """Return the forms that some texts may have, whose pattern enough of them match.

    One look at the texts tells of a hundred formats of dates; reading by each takes ten times that.
    """
    forms = list(_forms(texts))
    patterns = {
        form: pattern_of(form.date_format)
        for form in forms
        if form.date_format and form.date_format not in _DIGITS  # which may lack a zero
    }
    cells = pl.col(texts.name).str.strip_chars()
    looks = (cells.str.contains(it).mean().alias(it) for it in set(patterns.values()))
    shares = texts.to_frame().select(*looks).to_dict(as_series=False) if patterns else {}
    return [it for it in forms if it not in patterns or shares[patterns[it]][0] > _ALIVE]


def _around(texts: pl.Series) -> tuple[str, str]:
    """Return the unit that stands before the numbers and the one behind, if most have one."""
    found = []
    for pattern in (r"^\s*[+-]?\s*([^\d\s.,+\-]{1,3})\s*[+-]?\d", r"\d(\s*[^\d\s.,]{1,3})\s*$"):
        units = texts.str.extract(pattern)
        most = units.drop_nulls().mode().sort()
        unit = most[0] if len(most) else ""
        usual = unit and (units == unit).sum() > _ALIVE * len(texts) and unit.strip() in _UNITS
        found.append(unit if usual else "")
    return found[0], found[1]


def form_of(texts: pl.Series) -> TextForm | None:
    """Return how most texts of a column are written, if they are numbers, dates or times.

    Examples
    --------
    >>> form = form_of(pl.Series(["1,5", "2,25", "NA", "10,0"]))
    >>> form.number_format, form.fits, form.marks, form.others
    ('1234,5', 3, 1, 0)
    """
    tally = _Tally()
    tally.see(texts)
    return tally.found()


def form_of_digits(numbers: pl.Series) -> TextForm | None:
    """Return how numbers spell dates in eight digits, such as 19801231, if nearly all do."""
    whole = numbers.drop_nulls().cast(pl.Int64, strict=False)
    if not len(whole) or whole.null_count():
        return None
    if whole.is_between(1_01_1850, 99_99_9999).mean() < _WORTH_SAYING:  # type: ignore[operator] # of no empty column
        return None
    form = form_of(whole.cast(pl.String).str.zfill(8))
    return form if form is not None and form.date_format in _DIGITS and form.holds else None


class TextWatch:
    """Looks at batches of a table that is fitted to, and says which texts are nearly numbers."""

    def __init__(self, *, owner: str, known: Collection[str] = ()) -> None:
        self._owner, self._known = owner, known
        self._tallies: dict[str, _Tally] = {}

    def see(self, batch: pl.DataFrame) -> None:
        """Count the forms of a batch's columns of text."""
        for name, dtype in batch.schema.items():
            if dtype == pl.String and name not in self._known:
                tally = self._tallies.setdefault(name, _Tally())
                if tally.alive:
                    tally.see(batch.get_column(name))

    def __add__(self, other: TextWatch) -> TextWatch:
        """Return the watch that has seen the batches of both."""
        found, tallies = TextWatch(owner=self._owner, known=self._known), self._tallies
        for name, tally in other._tallies.items():
            tallies = {**tallies, name: tallies[name] + tally if name in tallies else tally}
        found._tallies = tallies
        return found

    def warn(self) -> None:
        """Warn of each column that is nearly numbers, dates or times, with counts of cells."""
        for name, tally in self._tallies.items():
            form = tally.found()
            # Where no text is anything but a number, somebody made texts of numbers.
            if form is None or form.share < _WORTH_SAYING or (tally.plain and not form.unread):
                continue
            warnings.warn(_sentence(name, form, self._owner), ColumnWarning, stacklevel=4)


def _sentence(name: str, form: TextForm, owner: str) -> str:
    what = "numbers" if form.is_number else "dates or times"
    also = f" They also fit the form {form.also}." if form.also else ""
    rest = " List it under coerce, too, to make the other cells missing." if form.unread else ""
    return (
        f"Column {name!r} looks like {what} stored as text: {form.fits:,} of "
        f"{form.fits + form.unread:,} cells. {owner} takes each text for a category.{also} "
        f'Declare {form.declared} when you read the table, or dtypes = "string" if they are '
        f"categories.{rest}"
    )
