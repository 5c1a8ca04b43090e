"""What can be counted of a column: the numbers that a proposal of its role rests on."""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask.data import Normalization, spellings, steps_needed
from halfmask.data.cell_formats import ISO
from halfmask.data.hierarchy.orders import has_order
from halfmask.data.hierarchy.tree import leaf_text
from halfmask.data.text_forms import TextForm, form_of, form_of_digits
from halfmask.data.value_patterns import pattern_shares

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

# Forms are looked for in so many different values; a share of them is known to about 2 %.
LOOKED_AT = 2_000
# Spellings are compared in columns of at most so many different texts.
MAX_RESPELLED = 20_000
# Whole numbers as long as this may be card or account numbers.
LONG_NUMBER = 10**11
# The least number that spells a date in eight digits, a zero in front left out: 01011850.
FIRST_DAY_IN_DIGITS = 1_01_1850
# Ranges of numbers: "20-29", "[70-80)", "[70, 80)", "<30", "65+", "> 5 years", "1st-4th". Without
# brackets, "3,5" is a number.
RANGE = (
    r"^[\[(]?\d+(st|nd|rd|th)?\s*(-|to|\u2013)\s*\d+.*$|^[\[(]\d+\s*,\s*\d+.*$|"
    r"^([<>≤≥]=?)\s*\d+.*$|^\d+\s*\+.*$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """Counts of one column. Holds no value of it.

    Shares are fractions in [0, 1] of the rows with a value, unless stated otherwise.
    """

    name: str
    dtype: pl.DataType
    rows: int
    missing: int
    distinct: int
    share_unique: float
    share_largest: float
    share_beyond_one: float
    share_beyond_two: float
    # Two values of the column: not for any text.
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    mean_length: float = 0.0
    mean_words: float = 0.0
    leading_zeros: float = 0.0
    whole_numbers: bool = False
    # Texts of one word that has a digit, such as r017.
    numbered: float = 0.0
    ranges: float = 0.0
    patterns: dict[str, float] = field(default_factory=dict)
    form: TextForm | None = None
    respelled: int = 0
    normalize: tuple[Normalization, ...] = ()
    coded: int = 0
    names: float = 0.0
    # Whether most of its numbers have labels in the file.
    labelled: bool = False

    @property
    def date_format(self) -> str | None:
        """The format by which nearly all texts are dates or times, or ``None``."""
        form = self.form
        if form is None or form.is_number or not form.holds:
            return None
        return form.date_format or ISO

    @property
    def is_number_text(self) -> bool:
        """Whether nearly all texts are numbers."""
        return self.form is not None and self.form.is_number and self.form.holds

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, or nearly all texts are."""
        return self.dtype.is_numeric() or self.is_number_text

    @property
    def filled(self) -> int:
        """The number of rows with a value."""
        return self.rows - self.missing

    @property
    def uniqueness(self) -> float:
        """Different values by rows with a value."""
        return self.distinct / self.filled if self.filled else 0.0


def profile_all(
    frame: pl.DataFrame, labelled: Collection[str] = frozenset()
) -> dict[str, ColumnProfile]:
    """Return the profile of each column; some have labels for most of their numbers."""
    profiles = {name: profile_of(frame[name]) for name in frame.columns}
    found = {name: replace(profiles[name], labelled=True) for name in labelled if name in profiles}
    return profiles | found


def profile_of(values: pl.Series) -> ColumnProfile:
    """Count what a proposal needs to know of a column."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    found = values.drop_nulls().alias("value").value_counts(sort=False, name="cells")
    different, cells = found["value"], found["cells"].to_numpy()
    counted = _count_values(values, cells)
    if values.dtype.is_numeric():
        return ColumnProfile(**counted, **_count_numbers(values, different, cells))  # type: ignore[arg-type] # by name
    if values.dtype.is_temporal() or values.dtype == pl.Boolean or different.is_empty():
        return ColumnProfile(**counted)  # type: ignore[arg-type] # by name
    texts = values.cast(pl.String)
    counted |= _count_texts(texts, different.cast(pl.String))
    return ColumnProfile(**counted, names=share_of_names(texts))  # type: ignore[arg-type] # by name


def _take_some(different: pl.Series) -> pl.Series:
    """Return at most 2,000 different values: those of the lowest hashes, the same each time."""
    if different.len() <= LOOKED_AT:
        return different
    return different.gather(different.hash(seed=0).arg_sort().head(LOOKED_AT))


def _count_values(values: pl.Series, counts: NDArray[np.integer[Any]]) -> dict[str, object]:
    rows, missing = values.len(), values.null_count()
    largest = np.sort(np.append(counts, missing))[::-1]
    beyond = [float((rows - largest[:n].sum()) / max(rows, 1)) for n in (1, 2)]
    return {
        "name": values.name,
        "dtype": values.dtype,
        "rows": rows,
        "missing": missing,
        "distinct": len(counts),
        "share_unique": float(np.count_nonzero(counts == 1) / rows) if rows else 0.0,
        "share_largest": float(counts.max() / (rows - missing)) if len(counts) else 0.0,
        "share_beyond_one": beyond[0],
        "share_beyond_two": beyond[1],
    }


def _count_numbers(
    values: pl.Series, different: pl.Series, cells: NDArray[np.integer[Any]]
) -> dict[str, object]:
    numbers = different.cast(pl.Float64).to_numpy()
    finite = np.isfinite(numbers)
    infinite = int(cells[~finite].sum())
    numbers, cells = numbers[finite], cells[finite]
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (np.inf, -np.inf)
    text = leaf_text(_take_some(different))
    form = None
    if infinite:  # no range can hold them
        form = TextForm(dtype="float", fits=int(cells.sum()), others=infinite)
    elif high >= FIRST_DAY_IN_DIGITS:
        form = form_of_digits(values)
    return {
        "low": float(low) if len(numbers) else None,
        "high": float(high) if len(numbers) else None,
        "whole_numbers": bool((numbers == np.floor(numbers)).all()),
        "mean_length": _mean(text.str.len_chars()) if text.len() else 0.0,
        "patterns": pattern_shares(text) if high >= LONG_NUMBER else {},
        "form": form,
        "coded": coded_cells(numbers, cells),
    }


def _count_texts(texts: pl.Series, different: pl.Series) -> dict[str, object]:
    some = _take_some(different)
    form = form_of(texts)
    ranges = _mean(some.str.contains(RANGE))
    numbers = pl.Series([], dtype=pl.Float64)
    if form is not None and form.is_number and form.holds:
        numbers = form.read(different).drop_nulls().cast(pl.Float64)
    # Of so many different texts nobody counts how often each occurs in a class.
    normalize = steps_needed(different) if different.len() <= MAX_RESPELLED else ()
    return {
        "respelled": spellings(different, normalize) if normalize else 0,
        "normalize": normalize,
        "low": numbers.min(),
        "high": numbers.max(),
        "whole_numbers": bool(numbers.len()) and bool((numbers == numbers.floor()).all()),
        "mean_length": _mean(some.str.len_chars()),
        "mean_words": _mean(some.str.count_matches(r"\s+") + 1),
        "leading_zeros": _mean(some.str.contains(r"^0\d+$")),
        "numbered": _mean(some.str.contains(r"^\S*\d\S*$")),
        # What has no order to the release has none here.
        "ranges": ranges if ranges >= 0.5 and has_order(different) else 0.0,
        "patterns": pattern_shares(some),
        "form": form,
    }


def _mean(counts: pl.Series) -> float:
    return float(counts.cast(pl.Float64).to_numpy().mean())


#: ``97``, ``98``, ``99``, ``997``...: beyond 16 digits no float is one of them.
_NINES: Final = ["9" * n + last for n in range(1, 16) for last in "789"]
_REPEATED: Final = [digit * n for n in range(1, 17) for digit in "678"]
_HIGH_CODES: Final = np.array([float(it) for it in _NINES if int(float(it)) == int(it)])
_LOW_CODES: Final = -np.array([*range(1, 10), *map(float, _REPEATED), *_HIGH_CODES])
#: Fewer other values say nothing of what is far from them.
_OTHERS: Final = 5
#: How much more frequent than most other values a code is, or how much farther from zero.
_FREQUENT, _FAR = 5, 10


def coded_cells(values: NDArray[np.float64], cells: NDArray[np.integer[Any]]) -> int:
    """Return how many cells hold a whole number that stands apart, as codes of missing answers do.

    Negative ones count where all other numbers are at least zero, and rows of nines where they are
    at least twice the others. They are also more frequent than most values, or far from them.

    Examples
    --------
    >>> coded_cells(np.array([*range(100, 900, 7), -8.0]), np.array([1] * 115 + [20]))
    20
    >>> coded_cells(np.arange(-8.0, 30.0), np.full(38, 2))
    0
    """
    if not ((values < 0) | (values >= _HIGH_CODES[0])).any():
        return 0
    low, high = np.isin(values, _LOW_CODES), np.isin(values, _HIGH_CODES)
    rest = ~low & ~high
    if rest.all() or rest.sum() < _OTHERS:
        return 0
    least, most = values[rest].min(), values[rest].max()
    frequent = cells >= _FREQUENT * np.median(cells[rest])
    is_low = low & (least >= 0) & (frequent | (_FAR * np.abs(values) <= least))
    is_high = high & (values >= 2 * most) & (most > 0) & (cells > 1)
    return int(cells[is_low | is_high].sum())


# Texts of more words are sentences or addresses.
MAX_WORDS = 4
# So many different texts are looked up, the most frequent first.
LOOKED_UP = 20_000
GIVEN = """
james john robert michael william david richard joseph thomas charles christopher daniel matthew
anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason
jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin brandon benjamin samuel gregory
alexander frank patrick raymond dennis jerry aaron jose adam henry nathan peter zachary kyle walter
harold carl jeremy keith roger arthur terry sean christian noah ethan dylan bryan joe louis albert
ralph roy eugene russell philip harry vincent bobby johnny mary patricia jennifer linda elizabeth
barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna
michelle carol amanda melissa deborah stephanie rebecca laura sharon cynthia kathleen amy angela
shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn
janet catherine maria heather diane ruth julie olivia joyce kelly lauren christina joan evelyn
judith andrea hannah megan cheryl jacqueline martha gloria teresa ann sara frances kathryn janice
alice julia judy sophia denise doris marilyn danielle beverly isabella theresa natalie brittany
marie kayla alexis lori jeff chris mike dave steve tom jim matt ben sam nick tony greg kim liam
oliver lucas leo max felix paula lena sophie johanna katharina claudia sabine petra monika andreas
stefan martin hans klaus jurgen wolfgang dieter helmut gunter uwe jens tim lukas jonas finn leon
pierre michel philippe nicolas christophe laurent francois isabelle nathalie sylvie valerie
sandrine celine camille chloe manon ines louise antonio manuel francisco juan javier carlos miguel
luis pedro pablo alejandro sergio fernando jorge alberto diego rafael carmen ana isabel dolores
pilar josefa lucia cristina elena marta giuseppe giovanni mario luigi angelo vincenzo salvatore
domenico francesco marco alessandro luca lorenzo matteo giulia chiara francesca alessia martina
joao paulo marcos gabriel mateus juliana fernanda camila beatriz anders lars erik nils karin ingrid
astrid piotr krzysztof andrzej tomasz pawel agnieszka malgorzata katarzyna ewa jakub johannes
willem pieter cornelis ivan sergei sergey dmitri dmitry alexei alexey vladimir mikhail olga natalia
svetlana tatiana irina mohammed muhammad mohamed ahmed ali hassan hussein omar ibrahim mustafa
fatima aisha khadija zainab mehmet emre ayse raj rahul amit sanjay vijay priya pooja anjali sunita
deepak wei li ming jing hui yan hiroshi takashi yuki kenji sakura minjun jiwoo seoyeon tran nguyen
иван александр сергей дмитрий алексей андрей владимир михаил мария анна елена ольга наталья татьяна
"""
FAMILY = """
smith johnson williams jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson
anderson thomas taylor moore martin lee perez thompson harris sanchez clark ramirez lewis robinson
walker allen wright torres nguyen flores adams nelson baker rivera campbell mitchell carter roberts
gomez phillips evans turner diaz parker cruz edwards collins reyes stewart morris morales murphy
rogers gutierrez ortiz morgan cooper peterson bailey kelly howard ramos kim richardson watson
brooks chavez james bennett mendoza ruiz hughes alvarez castillo sanders patel myers ross foster
jimenez muller schmidt schneider weber meyer wagner becker schulz hoffmann koch bauer richter
schroder neumann zimmermann kruger hofmann hartmann werner krause lehmann bernard dubois durand
robert moreau laurent simon michel lefebvre leroy bertrand morel fournier girard bonnet fernandez
munoz alonso romero navarro dominguez vazquez serrano molina rossi ferrari esposito bianchi colombo
ricci santos oliveira souza pereira ferreira alves gomes ribeiro martins carvalho almeida andersson
johansson karlsson nilsson eriksson larsson olsson hansen johansen olsen larsen nielsen jensen
pedersen nowak kowalski wisniewski wojcik kowalczyk jansen bakker visser smit meijer ivanov ivanova
petrov petrova smirnov smirnova kuznetsov popov wang li zhang liu chen yang huang zhao wu zhou xu
sato suzuki takahashi tanaka watanabe ito yamamoto nakamura kobayashi choi singh kumar sharma khan
gupta shah das yilmaz kaya demir celik walsh byrne ryan
"""


def share_of_names(values: pl.Series) -> float:
    """Return the share of rows with a text whose first or last word is a frequent name."""
    counts = values.drop_nulls().alias("text").value_counts(sort=True, name="n").head(LOOKED_UP)
    plain = pl.col("text").str.normalize("NFKD").str.replace_all(r"\p{M}", "").str.to_lowercase()
    words = plain.str.extract_all(r"[\p{L}'-]+")
    is_name = (
        (words.list.len() <= MAX_WORDS)
        & ~plain.str.contains(r"\d")
        & (words.list.first().is_in(_known_names()) | words.list.last().is_in(_known_names()))
    )
    named, every = counts.filter(is_name)["n"].sum(), counts["n"].sum()
    return int(named) / int(every) if every else 0.0


@functools.cache
def _known_names() -> tuple[str, ...]:
    """Return the names as texts are compared, without accents."""
    plain = unicodedata.normalize("NFKD", f"{GIVEN} {FAMILY}")
    return tuple(sorted({*"".join(c for c in plain if not unicodedata.combining(c)).split()}))
