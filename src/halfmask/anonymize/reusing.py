"""Reuse the classes of an earlier release: seal its plan for the vault, and open it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError
from halfmask.anonymize._lattice_partition import LatticePartition
from halfmask.anonymize._partition import Partition
from halfmask.anonymize._sealed_plan import TREE, SealedPlan, form_of

if TYPE_CHECKING:
    from halfmask.anonymize._plan import Plan

_VERSION: Final = 1


def seal_plan(plan: Plan) -> bytes:
    """Return what a later release needs to reuse a plan's classes: secret, it has values."""
    partition, names = plan.partition, plan.quasi_identifiers
    head: dict[str, Any] = {"version": _VERSION, "method": plan.method.name, "columns": names}
    head["forms"] = {coding.column.name: form_of(coding) for coding in plan.codings}
    head["levels"] = {}
    arrays = pl.DataFrame()
    if type(partition) is LatticePartition:
        head["levels"] = dict(zip(names, partition.levels, strict=True))
    elif type(partition) is Partition and getattr(plan.method, "strict", True):
        values = [_plain(coding.values).alias(coding.column.name) for coding in plan.codings]
        nodes = [pl.Series(name, getattr(partition, name.strip("\0"))) for name in TREE]
        arrays = pl.DataFrame([series.implode() for series in (*values, *nodes)])
    held = io.BytesIO()
    arrays.write_ipc_stream(held, compression="zstd")
    return json.dumps(head).encode() + b"\n" + held.getvalue()


def open_plan(sealed: bytes) -> SealedPlan:
    """Return a plan that `seal_plan` sealed."""
    try:
        text, _, table = sealed.partition(b"\n")
        head = json.loads(text)
        if head["version"] != _VERSION:
            raise DataError("The earlier plan was sealed by another version of halfmask.")
        plan = SealedPlan(
            method=head["method"],
            columns=tuple(head["columns"]),
            forms=head["forms"],
            levels=head["levels"],
            arrays=pl.read_ipc_stream(io.BytesIO(table)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("The earlier plan can't be read.") from None
    return plan


def _plain(values: pl.Series) -> pl.Series:
    return values.cast(pl.String) if isinstance(values.dtype, pl.Enum) else values
