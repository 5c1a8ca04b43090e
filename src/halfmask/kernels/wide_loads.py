"""Look at many bytes at once: which of 64 are a given one, and eight of them as a word.

Written in LLVM's portable vector form: each processor compares as many at once as it can.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

__all__ = ["WIDTH", "lowest", "matches", "word_at"]

#: How many bytes are compared at once, and how many must be readable behind the last one.
WIDTH = 64
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


def _place(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, kind: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer())


def _matches(_context: Any, data: Any, at: Any, byte: Any) -> Any:  # noqa: ANN401, ARG001 # numba's own protocol: types in, a signature and an emitter out
    """Return which of 64 bytes are a given one, the first in the lowest bit.

    Parameters
    ----------
    data
        Bytes, of which 64 can be read from the place on.
    at
        The place of the first.
    byte
        The byte that is looked for.
    """
    return types.uint64(data, types.int64, types.uint8), _emit_matches


def _emit_matches(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    vector = ir.VectorType(_BYTE, WIDTH)
    found = builder.load(_place(context, builder, signature, arguments, vector), align=1)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], _WORD(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    every = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), places)
    return builder.bitcast(builder.icmp_unsigned("==", found, every), _WORD)


def _word_at(_context: Any, data: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return eight bytes from a place on as a little-endian word; they must be readable."""
    return types.uint64(data, types.int64), _emit_word


def _emit_word(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    found = builder.load(_place(context, builder, signature, arguments, _WORD), align=1)
    return found if sys.byteorder == "little" else builder.bswap(found)


def _lowest(_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return the place of the lowest bit that is set; 64 if none is."""
    return types.int64(types.uint64), _emit_lowest


def _emit_lowest(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    return builder.cttz(arguments[0], ir.IntType(1)(0))


#: The intrinsics, under the types that their callers see.
matches: Callable[..., np.uint64] = intrinsic(_matches)
word_at: Callable[..., np.uint64] = intrinsic(_word_at)
lowest: Callable[..., int] = intrinsic(_lowest)
