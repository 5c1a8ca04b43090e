"""Frozen values, such as a plan, as bytes for a vault: JSON and arrays, nothing that runs."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.encode._codes import Codes, Ranks
from halfmask.encode._mix import Affine, Coupling, Flow, Mix, MonotoneMap
from halfmask.encode._plan import CodecPlan
from halfmask.encode._receipts import EncodingReceipt
from halfmask.encode._scaling import CategoryWeights, Direction, NumberTarget, NumberWeight, Scaling
from halfmask.encode._settings import CodecSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A form of bytes."""

    label: str
    version: int
    kinds: Mapping[str, type[Any]]
    what: str

    def write(self, value: object) -> bytes:
        """Return the value as bytes; the same value gives the same ones."""
        parts: list[tuple[str, bytes]] = []
        packed = _pack(value, parts, self.kinds)
        head = {"format": self.label, "version": self.version, "plan": packed}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in [("plan.json", json.dumps(head).encode()), *parts]:
                # A fixed time of writing: the same plan gives the same bytes.
                archive.writestr(zipfile.ZipInfo(name), data)
        return buffer.getvalue()

    def read(self, data: bytes) -> Any:  # noqa: ANN401 # one of the kinds
        """Return the value that bytes hold."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            head = json.loads(files["plan.json"])
            found = head["format"], head["version"]
        except (
            zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, EOFError, RuntimeError,
        ):  # fmt: skip
            raise self.unreadable() from None
        if found != (self.label, self.version):
            raise DataError(
                f"The plan is of version {head['version']!r}; this halfmask reads {self.version}.",
                hint="Use the version of halfmask that wrote it.",
            )
        try:
            return _unpack(head["plan"], files, self.kinds)
        except (
            KeyError, ValueError, TypeError, IndexError, OSError, EOFError,
            pl.exceptions.PolarsError,
        ):  # fmt: skip
            raise self.unreadable() from None

    def unreadable(self) -> DataError:
        """Return the error of bytes that hold nothing of the kind."""
        return DataError(
            f"The bytes hold no {self.what}, or a damaged one.", hint="Unseal what to_bytes() gave."
        )


def _pack(  # noqa: PLR0911 # one return for each kind of value
    value: object, parts: list[tuple[str, bytes]], kinds: Mapping[str, type[Any]]
) -> object:
    if isinstance(value, np.ndarray):
        return {"array": _add_part(parts, "npy", _array_bytes(value))}
    if isinstance(value, pl.Series):
        return {"series": _add_part(parts, "arrow", _series_bytes(value))}
    if isinstance(value, pl.DataType) or (
        isinstance(value, type) and issubclass(value, pl.DataType)
    ):
        return {"dtype": _add_part(parts, "arrow", _series_bytes(pl.Series([], dtype=value)))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return [_pack(each, parts, kinds) for each in value]
    name = next((name for name, kind in kinds.items() if kind is type(value)), None)
    if dataclasses.is_dataclass(value) and name is not None:
        # What isn't given to make a value follows from the rest of it.
        fields = {
            it.name: _pack(getattr(value, it.name), parts, kinds)
            for it in dataclasses.fields(value)
            if it.init
        }
        return {"kind": name, "fields": fields}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpack(
    value: Any,  # noqa: ANN401 # what JSON holds
    files: dict[str, bytes],
    kinds: Mapping[str, type[Any]],
) -> Any:  # noqa: ANN401 # the same
    if isinstance(value, list):
        return tuple(_unpack(each, files, kinds) for each in value)
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        fields = {name: _unpack(each, files, kinds) for name, each in value["fields"].items()}
        return kinds[value["kind"]](**fields)
    if "array" in value:
        return np.lib.format.read_array(io.BytesIO(files[value["array"]]))
    if "bytes" in value:
        return bytes.fromhex(value["bytes"])
    column = pl.read_ipc(io.BytesIO(files[value.get("series") or value["dtype"]]))["value"]
    return column if "series" in value else column.dtype


def _add_part(parts: list[tuple[str, bytes]], ending: str, data: bytes) -> str:
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


#: Raised whenever a plan of before would be read wrongly.
PLAN_VERSION = 1
_KINDS: dict[str, type[Any]] = {
    "Affine": Affine,
    "Bend": MonotoneMap,
    "CategoryWeights": CategoryWeights,
    "Codes": Codes,
    "Coupling": Coupling,
    "Direction": Direction,
    "Flow": Flow,
    "Mix": Mix,
    "NumberTarget": NumberTarget,
    "NumberWeight": NumberWeight,
    "Plan": CodecPlan,
    "Ranks": Ranks,
    "Receipt": EncodingReceipt,
    "Scaling": Scaling,
    "Settings": CodecSettings,
}


_ARCHIVE = Archive(
    label="halfmask codec plan", version=PLAN_VERSION, kinds=_KINDS, what="plan of a codec"
)


def plan_to_bytes(plan: CodecPlan, receipts: tuple[EncodingReceipt, ...] = ()) -> bytes:
    """Return the plan as bytes: a zip archive of JSON, npy and Arrow files.

    Guarantees
    ----------
    `plan_from_bytes` gives a plan that encodes and decodes bit for bit as this one does. The bytes
    hold keys and values, unencrypted: seal them (``vault.seal(...)``).
    """
    return _ARCHIVE.write((plan, *receipts) if receipts else plan)


def plan_from_bytes(data: bytes) -> CodecPlan:
    """Return the plan that bytes hold."""
    return read_codec(data)[0]


def read_codec(data: bytes) -> tuple[CodecPlan, tuple[EncodingReceipt, ...]]:
    """Return the plan that bytes hold, and the receipts; raise as `plan_from_bytes` does."""
    found = _ARCHIVE.read(data)
    plan, *receipts = found if isinstance(found, tuple) and found else (found,)
    of_receipts = all(isinstance(each, EncodingReceipt) for each in receipts)
    if not isinstance(plan, CodecPlan) or not of_receipts:
        raise _ARCHIVE.unreadable()
    return plan, tuple(receipts)
