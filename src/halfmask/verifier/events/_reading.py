"""Lines of an output, and the values in them, read with nothing of ours."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import VerificationError
from halfmask.verifier._found_files import unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS: Final = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
#: Numbers of more digits before or behind the point aren't written out.
_FAR: Final = 400
#: Formats that keep rows, not lines.
TABLES: Final = ("parquet", "arrow")


class Number(str):
    """A number with its digits; a text is a plain `str`."""

    __slots__ = ()


def same_text(value: object) -> str | None:
    """Return the text that all values have in common that are the same; None for no scalar.

    A number is the same as each other way to write it, and as the text of its plain decimal digits.

    Examples
    --------
    >>> same_text(Number("10.420e2")), same_text("1042"), same_text(Number("-0.0")), same_text(True)
    ('1042', '1042', '0', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, Number):
        return value if isinstance(value, str) else None
    sign, whole, fraction, exponent = _PARTS.fullmatch(value).groups("")  # type: ignore[union-attr] # a number
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if not -_FAR < point <= _FAR:
        return f"{sign}{digits}e{point - len(digits)}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = digits[point:]
    return f"{sign}{digits[:point].ljust(point, '0')}" + (f".{rest}" if rest else "")


def lines_of(path: Path, form: str) -> Iterator[bytes]:
    """Yield the lines of a file, plain or packed, without ends; of a table its rows as JSON."""
    if form not in {*TABLES, "jsonl"}:
        raise VerificationError(f"No output of events is {form}.")
    try:
        if form in TABLES:
            yield from _rows(path, form)
            return
        with unpacked(path) as file:
            for line in file:
                yield line.removesuffix(b"\n")
    except (OSError, EOFError, ValueError, zlib.error):
        raise VerificationError("A file of the output can't be read to its end.") from None


def _rows(path: Path, form: str) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 # 0.2 s
    import pyarrow.parquet as pq  # noqa: PLC0415 # the same

    if form == "parquet":
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=4096):
                yield from (_row(row) for row in batch.to_pylist())
        return
    with pa.ipc.open_file(path) as stream:
        for number in range(stream.num_record_batches):
            yield from (_row(row) for row in stream.get_batch(number).to_pylist())


def _row(row: dict[str, Any]) -> bytes:
    return json.dumps(_without_missing(row), allow_nan=False).encode()


def _without_missing(value: Any) -> Any:  # noqa: ANN401 # what Arrow held
    """Return a row without what isn't there: a table has no other word for it than null."""
    if isinstance(value, dict):
        return {name: _without_missing(it) for name, it in value.items() if it is not None}
    if isinstance(value, list):
        return [_without_missing(it) for it in value]
    return value


def event_of(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, numbers as `Number`; None if it is no object of JSON.

    A field that stands twice in an object, NaN and infinities are no JSON here.
    """
    try:
        event = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_constant(word: str) -> None:
    raise ValueError(word)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=Number, parse_float=Number, parse_constant=_no_constant
)
