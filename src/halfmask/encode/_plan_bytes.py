"""A plan as bytes that a vault can seal, and back: JSON and arrays, nothing that runs."""

from __future__ import annotations

from typing import Any

from halfmask.encode._archive import Archive
from halfmask.encode._codes import Codes, Ranks
from halfmask.encode._mix import Affine, Coupling, Flow, Mix, MonotoneMap
from halfmask.encode._plan import CodecPlan
from halfmask.encode._receipts import EncodingReceipt
from halfmask.encode._scaling import CategoryWeights, Direction, NumberTarget, NumberWeight, Scaling
from halfmask.encode._settings import CodecSettings

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

    Parameters
    ----------
    plan
        A fitted plan.
    receipts
        What is kept of tables that it encoded.

    Guarantees
    ----------
    `plan_from_bytes` gives a plan that encodes and decodes bit for bit as this one does. The bytes
    hold keys and values, unencrypted: seal them (``vault.seal(...)``).
    """
    return _ARCHIVE.write((plan, *receipts) if receipts else plan)


def plan_from_bytes(data: bytes) -> CodecPlan:
    """Return the plan that bytes hold.

    Parameters
    ----------
    data
        What `plan_to_bytes` returned.

    Raises
    ------
    DataError
        If they hold no plan, a damaged one, or one of another version.
    """
    return read_codec(data)[0]


def read_codec(data: bytes) -> tuple[CodecPlan, tuple[EncodingReceipt, ...]]:
    """Return the plan that bytes hold, and the receipts; raise as `plan_from_bytes` does."""
    found = _ARCHIVE.read(data)
    plan, *receipts = found if isinstance(found, tuple) and found else (found,)
    of_receipts = all(isinstance(each, EncodingReceipt) for each in receipts)
    if not isinstance(plan, CodecPlan) or not of_receipts:
        raise _ARCHIVE.unreadable()
    return plan, tuple(receipts)
