"""The least and greatest code of every lane over a run of records, by vector instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lane_extremes"]

VECTOR_BITS = 128
WORD = ir.IntType(64)


def _lane_extremes(
    _context: Any,  # noqa: ANN401 # numba's own protocol: types in, a signature and an emitter out
    records: Any,  # noqa: ANN401 # the same
    start: Any,  # noqa: ANN401, ARG001 # the same; named for the caller
    stop: Any,  # noqa: ANN401, ARG001 # the same
    low: Any,  # noqa: ANN401 # the same
    high: Any,  # noqa: ANN401 # the same
) -> Any:  # noqa: ANN401 # the same
    """Write the least and greatest value of each lane of ``records[start:stop]``.

    Parameters
    ----------
    records
        Unsigned integers of 8, 16 or 32 bits, C-contiguous, (rows, lanes); the lanes of a row fill
        whole vectors of 128 bits.
    start, stop
        The run of rows, at least one.
    low, high
        Written: arrays of the records' type, one value a lane.

    Notes
    -----
    A loop over rows that keeps a minimum for each lane isn't turned into vector code by LLVM (the
    accumulators might overlap the records), which costs nine tenths of the pass: so the loop is
    built here, in LLVM's portable vector form, with four accumulators against the latency.
    """
    signature = types.void(records, types.int64, types.int64, low, high)
    return signature, _emit


def _emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
    bits = signature.args[0].dtype.bitwidth
    lanes = VECTOR_BITS // bits
    vector = ir.VectorType(ir.IntType(bits), lanes)
    binary = ir.FunctionType(vector, [vector, vector])
    least, greatest = (
        builder.module.globals.get(intrinsic_name)
        or ir.Function(builder.module, binary, intrinsic_name)
        for intrinsic_name in (f"llvm.{name}.v{lanes}i{bits}" for name in ("umin", "umax"))
    )
    records, low, high = (
        context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 3, 4)
    )
    start, stop = arguments[1], arguments[2]
    width = builder.extract_value(records.shape, 1)

    def at(data: Any, offset: Any) -> Any:  # noqa: ANN401
        return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())

    def row(index: Any, base: Any) -> Any:  # noqa: ANN401
        offset = builder.add(builder.mul(index, width), base)
        return builder.load(at(records.data, offset), align=bits // 8)

    with cgutils.for_range(builder, builder.udiv(width, WORD(lanes))) as chunk:
        base = builder.mul(chunk.index, WORD(lanes))
        # The last row opens the accumulators and thereby pays for an odd count of rows.
        last = row(builder.sub(stop, WORD(1)), base)
        sums = [_variable(builder, vector) for _ in range(4)]
        for pointer in sums:
            builder.store(last, pointer)
        even = builder.and_(builder.sub(stop, start), WORD(-2))
        end = builder.add(start, even)
        with cgutils.for_range_slice(builder, start, end, WORD(2), inc=True) as (index, _):
            one, two = row(index, base), row(builder.add(index, WORD(1)), base)
            for pointer, function, value in zip(
                sums, (least, greatest, least, greatest), (one, one, two, two), strict=True
            ):
                builder.store(builder.call(function, [builder.load(pointer), value]), pointer)
        for function, target, pair in ((least, low, (0, 2)), (greatest, high, (1, 3))):
            both = builder.call(function, [builder.load(sums[i]) for i in pair])
            builder.store(both, at(target.data, base), align=bits // 8)
    return context.get_dummy_value()


def _variable(builder: ir.IRBuilder, kind: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    """Return room for a value, made in the entry block so that LLVM keeps it in a register."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


#: The intrinsic, under the type that its callers see.
lane_extremes: Callable[..., None] = intrinsic(_lane_extremes)
