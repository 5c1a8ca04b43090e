"""Every type of Arrow with its edge values, and what a cell means, however it is stored."""

from __future__ import annotations

import math

import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from halfmask._errors import HalfmaskError
from halfmask.data import as_text, open_table
from halfmask.description import describe

NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400
TEXTS = [
    "",
    " ",
    "a ",
    "NA",
    "nan",
    "-",
    "007",
    "1e5",
    "é",
    "e\u0301",
    "\U0001f600",
    "a\nb",
    '"',
    ",",
]


def whole(bits, *, signed=True):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.sampled_from([low, high, 0, 1, low + 1, high - 1]) | st.integers(low, high)


def ticks(unit):
    """Moments at the ends of calendars, of days and of 64 bits."""
    second = 10**9 // NS[unit]
    edges = [-(2**63), 2**63 - 1, 0, -1, 253_402_300_799 * second, -62_135_596_800 * second]
    edges = [edge for edge in edges if -(2**63) <= edge < 2**63]
    return st.sampled_from([*edges, *(it + 1 for it in edges if it < 2**63 - 1)]) | whole(64)


def clocks(unit, bits):
    day = DAY * 10**9 // NS[unit]
    edges = [0, 1, day - 1, day, day + 1, -1]
    return st.sampled_from(edges) | st.integers(0, day - 1) | whole(bits)


FLOATS = st.sampled_from([math.inf, -math.inf, math.nan, -0.0, 0.1, 5e-324, 1.5]) | st.floats()
#: By name: the type, and the cells, physical ones of types of time.
TYPES = {
    **{f"int{n}": (getattr(pa, f"int{n}")(), whole(n)) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (getattr(pa, f"uint{n}")(), whole(n, signed=False)) for n in (8, 16, 32, 64)},
    "float16": (pa.float16(), st.floats(width=16)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), FLOATS),
    "bool": (pa.bool_(), st.booleans()),
    "null": (pa.null(), st.none()),
    "date32": (pa.date32(), st.sampled_from([0, -719_162, 2_932_896, 2_932_897]) | whole(32)),
    "date64": (pa.date64(), whole(40).map(lambda it: it * DAY * 1000 if abs(it) < 10**6 else 0)),
    **{f"time32_{u}": (pa.time32(u), clocks(u, 32)) for u in ("s", "ms")},
    **{f"time64_{u}": (pa.time64(u), clocks(u, 64)) for u in ("us", "ns")},
    **{f"moment_{u}": (pa.timestamp(u), ticks(u)) for u in NS},
    **{f"berlin_{u}": (pa.timestamp(u, "Europe/Berlin"), ticks(u)) for u in NS},
    "fixed": (pa.timestamp("us", "+05:30"), ticks("us")),
    **{f"span_{u}": (pa.duration(u), whole(64)) for u in NS},
    "decimal": (pa.decimal128(38, 4), st.decimals(-(10**33), 10**33, places=4)),
    "decimal256": (pa.decimal256(60, 4), st.decimals(-(10**50), 10**50, places=4)),
    **{
        f"text_{it}": (getattr(pa, it)(), st.sampled_from(TEXTS) | st.text(max_size=5))
        for it in ("string", "large_string", "string_view")
    },
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(TEXTS)),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "list": (pa.list_(pa.int64()), st.lists(whole(64), max_size=2)),
    "struct": (pa.struct([("a", pa.int8())]), st.fixed_dictionaries({"a": whole(8)})),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        st.lists(st.tuples(st.text(), whole(64)), max_size=1),
    ),
    "interval": (pa.month_day_nano_interval(), st.just((1, 2, 3))),
}
#: Types whose ordinary cells are never refused.
PLAIN = [
    name
    for name in TYPES
    if name not in {"decimal256", "binary", "list", "struct", "map", "interval", "fixed"}
]


def array(kind, cells):
    """Return an array of a type; cells of types of time are physical."""
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(cells, storage).view(kind)
    return pa.array(cells, kind)


def meaning(kind, cell):
    """Return what a cell of Arrow means, whatever its unit is."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    types = pa.types
    if types.is_interval(kind):
        return cell
    if kind == pa.date32():
        return ("day", cell)
    if kind == pa.date64():
        return ("moment", cell * NS["ms"])
    if types.is_temporal(kind):
        word = "clock" if types.is_time(kind) else "span" if types.is_duration(kind) else "moment"
        return (word, cell * NS[kind.unit])
    return cell


def seen(cells):
    """Return what the cells of a column of polars mean."""
    dtype = cells.dtype
    if dtype == pl.Date:
        return [None if it is None else ("day", it) for it in cells.to_physical()]
    if dtype.is_temporal():
        word = {pl.Time: "clock", pl.Duration: "span"}.get(dtype.base_type(), "moment")
        unit = NS[getattr(dtype, "time_unit", "ns")]
        return [None if it is None else (word, it * unit) for it in cells.to_physical()]
    return [None if isinstance(it, float) and math.isnan(it) else it for it in cells]


def check(where, wanted, *, may_fail=True, **options):
    """Read a table: its cells are what the source says, or an error names the column."""
    found, refused = None, ""
    try:
        found = open_table(where, **options).read()["cell"]
    except HalfmaskError as error:
        refused = str(error)
    if found is None:
        assert may_fail, refused
        assert "'cell'" in refused, refused
        return
    cells = seen(found)
    assert cells == wanted
    different = found.drop_nulls().unique()
    assert as_text(different).n_unique() == len(different)
    describe(found.to_frame())
