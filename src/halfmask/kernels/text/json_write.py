"""Put JSON lines together from columns of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from halfmask.kernels.compiling import njit_unchecked

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PIECE", "copy_piece", "write_lines"]

#: How many bytes are copied at once, and must be readable and writable behind the last token.
PIECE = 32
_STRING, _OBJECT = 6, 7
_QUOTE, _COMMA, _NEWLINE = 34, 44, 10
_SQUARE, _END_SQUARE, _CURLY, _END_CURLY = 91, 93, 123, 125


def _copy_piece(_context: Any, source: Any, at: Any, target: Any, to: Any) -> Any:  # noqa: ANN401, ARG001 # numba's own protocol: types in, a signature and an emitter out
    """Copy 32 bytes.

    Parameters
    ----------
    source, at
        From where.
    target, to
        To where; another array.
    """
    return types.void(source, types.int64, target, types.int64), _emit


def _emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    vector = ir.VectorType(ir.IntType(8), PIECE)

    def place(which: int) -> Any:  # noqa: ANN401
        array = context.make_array(signature.args[which])(context, builder, arguments[which])
        return builder.bitcast(builder.gep(array.data, [arguments[which + 1]]), vector.as_pointer())

    builder.store(builder.load(place(0), align=1), place(2), align=1)
    return context.get_dummy_value()


#: The intrinsic, under the type that its callers see.
copy_piece: Callable[..., None] = intrinsic(_copy_piece)


@njit_unchecked
def _copied(
    source: NDArray[np.uint8], start: int, stop: int, target: NDArray[np.uint8], to: int
) -> int:
    """Copy bytes, and some behind them that are written over later; return where they end."""
    length = stop - start
    copy_piece(source, start, target, to)
    done = PIECE
    while done < length:
        copy_piece(source, start + done, target, to + done)
        done += PIECE
    return to + length


@njit_unchecked
def write_lines(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    offsets: NDArray[np.int64],
    present: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    nodes: NDArray[np.int64],
    names: NDArray[np.uint8],
    frames: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> int:
    """Write a line for each event.

    Parameters
    ----------
    data
        What the tokens are in; `PIECE` bytes can be read from any token's end on.
    kinds, starts, stops
        The tokens of all columns, one column behind the other.
    offsets, present
        Of all arrays' levels, one behind the other: where the elements of each slot begin, and
        whether there is an array.
    wanted
        Which events are written.
    nodes
        A row for each node of the output: where its key begins and ends in `names`, its first
        field, the next field of its object, its elements' node, where its column begins, where its
        array's offsets and presences begin; -1 where it has none. The first is the event.
    names
        Keys with their quotes and colon; `PIECE` bytes can be read behind them.
    frames
        Room for a row for each container within another.
    out
        Written; `PIECE` bytes longer than any text that can come of it.

    Returns
    -------
    int
        How many bytes were written.

    Notes
    -----
    An object without any written value is taken back, except events and elements of arrays, which
    are written as empty ones.
    """
    at = 0
    for event in range(len(wanted)):
        if not wanted[event]:
            continue
        out[at] = _CURLY
        at += 1
        # A frame: node of the elements (-1: an object), slot, last slot or next field, where it
        # began (-1: it stays if it is empty), whether something is in it.
        frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = -1, event, nodes[0, 2], -1
        frames[0, 4] = 0
        depth = 0
        while depth >= 0:
            node, slot = frames[depth, 0], frames[depth, 1]
            among = node >= 0
            if among:
                if slot == frames[depth, 2]:
                    out[at] = _END_SQUARE
                    at += 1
                    depth -= 1
                    continue
                frames[depth, 1] = slot + 1
            else:
                node = frames[depth, 2]
                if node < 0:
                    began = frames[depth, 3]
                    if frames[depth, 4] == 0 and began >= 0:
                        at = began
                        depth -= 1
                    else:
                        out[at] = _END_CURLY
                        at += 1
                        depth -= 1
                        if depth >= 0:
                            frames[depth, 4] = 1
                    continue
                frames[depth, 2] = nodes[node, 3]
            place = nodes[node, 5] + slot
            kind = int(kinds[place]) if nodes[node, 5] >= 0 else 0
            is_value = 0 < kind < _OBJECT
            is_array = not is_value and nodes[node, 4] >= 0 and present[nodes[node, 7] + slot]
            is_bare = among and kind == _OBJECT
            if not (is_value or is_array or is_bare) and nodes[node, 2] < 0:
                continue
            began = at
            if frames[depth, 4]:
                out[at] = _COMMA
                at += 1
            if not among:
                at = _copied(names, nodes[node, 0], nodes[node, 1], out, at)
            if is_value:
                frames[depth, 4] = 1
                if kind == _STRING:
                    out[at] = _QUOTE
                    at = _copied(data, starts[place], stops[place], out, at + 1)
                    out[at] = _QUOTE
                    at += 1
                else:
                    at = _copied(data, starts[place], stops[place], out, at)
                continue
            if is_array:
                frames[depth, 4] = 1
                depth += 1
                bounds = nodes[node, 6] + slot
                frames[depth, 0] = nodes[node, 4]
                frames[depth, 1], frames[depth, 2] = offsets[bounds], offsets[bounds + 1]
                frames[depth, 3] = -1
                out[at] = _SQUARE
            else:
                depth += 1
                frames[depth, 0], frames[depth, 1] = -1, slot
                frames[depth, 2] = nodes[node, 2]
                frames[depth, 3] = -1 if among else began
                out[at] = _CURLY
            frames[depth, 4] = 0
            at += 1
        out[at] = _NEWLINE
        at += 1
    return at
