"""A plan as bytes that a vault can seal, and back: JSON and arrays, nothing that runs."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from typing import Any

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.encode._codes import Codes
from halfmask.encode._direction import CategoryWeights, Direction, NumberWeight
from halfmask.encode._flow import Bend, Coupling, Flow
from halfmask.encode._mix import Affine, Mix
from halfmask.encode._plan import Plan
from halfmask.encode._ranks import Ranks
from halfmask.encode._scaling import Scaling
from halfmask.encode._settings import Settings
from halfmask.encode._target import NumberTarget

__all__ = ["PLAN_VERSION", "plan_from_bytes", "plan_to_bytes"]

#: Raised whenever a plan of before would be read wrongly.
PLAN_VERSION = 1
_FORMAT = "halfmask codec plan"
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Affine, Bend, CategoryWeights, Codes, Coupling, Direction, Flow, Mix, NumberTarget,
        NumberWeight, Plan, Ranks, Scaling, Settings,
    )
}  # fmt: skip


def plan_to_bytes(plan: Plan) -> bytes:
    """Return the plan as bytes: a zip archive of JSON, npy and Arrow files.

    Guarantees
    ----------
    `plan_from_bytes` gives a plan that encodes and decodes bit for bit as this one does. The bytes
    hold keys and values, unencrypted: seal them (``vault.seal(...)``).
    """
    parts: list[tuple[str, bytes]] = []
    head = {"format": _FORMAT, "version": PLAN_VERSION, "plan": _packed(plan, parts)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [("plan.json", json.dumps(head).encode()), *parts]:
            # A fixed time of writing: the same plan gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def plan_from_bytes(data: bytes) -> Plan:
    """Return the plan that bytes hold.

    Raises
    ------
    DataError
        If they hold no plan, a damaged one, or one of another version.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        head = json.loads(files["plan.json"])
        found = head["format"], head["version"]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, EOFError, RuntimeError):
        raise _unreadable() from None
    if found != (_FORMAT, PLAN_VERSION):
        raise DataError(
            f"The plan is of version {head['version']!r}; this halfmask reads {PLAN_VERSION}.",
            hint="Use the version of halfmask that wrote it.",
        )
    try:
        plan = _unpacked(head["plan"], files)
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        OSError,
        EOFError,
        pl.exceptions.PolarsError,
    ):
        raise _unreadable() from None
    if not isinstance(plan, Plan):
        raise _unreadable()
    return plan


def _packed(  # noqa: PLR0911 # one return for each kind of value
    value: object, parts: list[tuple[str, bytes]]
) -> object:
    if isinstance(value, np.ndarray):
        return {"array": _part(parts, "npy", _array_bytes(value))}
    if isinstance(value, pl.Series):
        return {"series": _part(parts, "arrow", _series_bytes(value))}
    if isinstance(value, pl.DataType) or (
        isinstance(value, type) and issubclass(value, pl.DataType)
    ):
        return {"dtype": _part(parts, "arrow", _series_bytes(pl.Series([], dtype=value)))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return [_packed(each, parts) for each in value]
    if dataclasses.is_dataclass(value) and type(value).__name__ in _KINDS:
        fields = {
            it.name: _packed(getattr(value, it.name), parts) for it in dataclasses.fields(value)
        }
        return {"kind": type(value).__name__, "fields": fields}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpacked(value: Any, files: dict[str, bytes]) -> Any:  # noqa: ANN401 # what JSON holds
    if isinstance(value, list):
        return tuple(_unpacked(each, files) for each in value)
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        fields = {name: _unpacked(each, files) for name, each in value["fields"].items()}
        return _KINDS[value["kind"]](**fields)
    if "array" in value:
        return np.lib.format.read_array(io.BytesIO(files[value["array"]]))
    if "bytes" in value:
        return bytes.fromhex(value["bytes"])
    column = pl.read_ipc(io.BytesIO(files[value.get("series") or value["dtype"]]))["value"]
    return column if "series" in value else column.dtype


def _part(parts: list[tuple[str, bytes]], ending: str, data: bytes) -> str:
    name = f"{len(parts)}.{ending}"
    parts.append((name, data))
    return name


def _array_bytes(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array))
    return buffer.getvalue()


def _series_bytes(column: pl.Series) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"value": column}).write_ipc(buffer)
    return buffer.getvalue()


def _unreadable() -> DataError:
    return DataError(
        "The bytes hold no plan of a codec, or a damaged one.",
        hint="Unseal what Codec.to_bytes() gave.",
    )
