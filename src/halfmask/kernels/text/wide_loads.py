"""Look at many bytes at once: which of 64 are a given one, and eight of them as a word.

`peek` and `poke` read and write an array where the place is known to be in it: what numba has for
that asks of every place whether it is counted from the end.

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

__all__ = [
    "AHEAD",
    "WIDTH",
    "alike",
    "digits_at",
    "fetch",
    "lowest",
    "matches",
    "peek",
    "poke",
    "put_word",
    "word_at",
]

#: How many bytes are compared at once, and how many must be readable behind the last one.
WIDTH = 64
#: How many tokens on are fetched, in loops over tokens that stand far apart.
AHEAD = 8
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


def _place(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, kind: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer())


def _matches(_context: Any, data: Any, at: Any, byte: Any) -> Any:  # noqa: ANN401, ARG001 # numba's own protocol: types in, a signature and an emitter out
    """Return which of 64 bytes are a given one, the first in the lowest bit.

    Parameters
    ----------
    data
        Bytes; 64 can be read from the place on.
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


def _digits_at(_context: Any, data: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return which of 64 bytes are digits, the first in the lowest bit; they must be readable."""
    return types.uint64(data, types.int64), _emit_digits


def _emit_digits(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    vector = ir.VectorType(_BYTE, WIDTH)
    found = builder.load(_place(context, builder, signature, arguments, vector), align=1)
    value = builder.sub(found, ir.Constant(vector, [48] * WIDTH))
    return builder.bitcast(
        builder.icmp_unsigned("<", value, ir.Constant(vector, [10] * WIDTH)), _WORD
    )


def _alike(_context: Any, data: Any, at: Any, other: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return which of 64 bytes are the same at two places, the first in the lowest bit.

    Parameters
    ----------
    data
        Bytes; 64 can be read from both places on.
    at, other
        The places.
    """
    return types.uint64(data, types.int64, types.int64), _emit_alike


def _emit_alike(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    vector = ir.VectorType(_BYTE, WIDTH)
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    one, other = (
        builder.load(builder.bitcast(builder.gep(data, [at]), vector.as_pointer()), align=1)
        for at in arguments[1:]
    )
    return builder.bitcast(builder.icmp_unsigned("==", one, other), _WORD)


def _fetch(_context: Any, data: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Let a byte be fetched into the cache that is looked at soon; it must be in the array."""
    return types.void(data, types.int64), _emit_fetch


def _emit_fetch(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    place = _place(context, builder, signature, arguments, _BYTE)
    switch = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [place.type, switch, switch, switch])
    function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
    builder.call(function, [place, switch(0), switch(3), switch(1)])  # to read, to keep, data
    return context.get_dummy_value()


def _peek(_context: Any, array: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return what an array of one dimension holds at a place, which must be in it."""
    return array.dtype(array, types.int64), _emit_peek


def _emit_peek(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    kind = signature.args[0]
    data = context.make_array(kind)(context, builder, arguments[0]).data
    return context.unpack_value(builder, kind.dtype, builder.gep(data, [arguments[1]]))


def _poke(_context: Any, array: Any, at: Any, value: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Write a value into an array of one dimension at a place, which must be in it."""
    return types.void(array, types.int64, array.dtype), _emit_poke


def _emit_poke(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    kind = signature.args[0]
    data = context.make_array(kind)(context, builder, arguments[0]).data
    context.pack_value(builder, kind.dtype, arguments[2], builder.gep(data, [arguments[1]]))
    return context.get_dummy_value()


def _word_at(_context: Any, data: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return eight bytes from a place on as a little-endian word; they must be readable."""
    return types.uint64(data, types.int64), _emit_word


def _emit_word(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    found = builder.load(_place(context, builder, signature, arguments, _WORD), align=1)
    return found if sys.byteorder == "little" else builder.bswap(found)


def _put_word(_context: Any, data: Any, at: Any, word: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Write eight bytes from a place on, the word's lowest first; there must be room for them."""
    return types.void(data, types.int64, types.uint64), _emit_put_word


def _emit_put_word(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    word = arguments[2] if sys.byteorder == "little" else builder.bswap(arguments[2])
    builder.store(word, _place(context, builder, signature, arguments, _WORD), align=1)
    return context.get_dummy_value()


def _lowest(_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001 # as above
    """Return the place of the lowest bit that is set; 64 if none is."""
    return types.int64(types.uint64), _emit_lowest


def _emit_lowest(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # as above
    return builder.cttz(arguments[0], ir.IntType(1)(0))


#: The intrinsics, under the types that their callers see.
matches: Callable[..., np.uint64] = intrinsic(_matches)
word_at: Callable[..., np.uint64] = intrinsic(_word_at)
put_word: Callable[..., None] = intrinsic(_put_word)
lowest: Callable[..., int] = intrinsic(_lowest)
digits_at: Callable[..., np.uint64] = intrinsic(_digits_at)
alike: Callable[..., np.uint64] = intrinsic(_alike)
fetch: Callable[..., None] = intrinsic(_fetch)
peek: Callable[..., Any] = intrinsic(_peek)
poke: Callable[..., None] = intrinsic(_poke)
