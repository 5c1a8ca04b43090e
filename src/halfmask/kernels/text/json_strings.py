"""Strings of JSON: where they end, whether they are valid, and their shortest form.

64 bytes are looked at at once, as in J. Langdale and D. Lemire, "Parsing gigabytes of JSON per
second" (VLDB Journal 2019); only where one of them is a quote, a backslash, a control character or
beyond ASCII is anything looked at by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.wide_loads import WIDTH, lowest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "LONE_SURROGATE",
    "NOT_JSON",
    "NOT_UTF8",
    "move_right",
    "shorten",
    "specials",
    "string_end",
]

#: Why a string is refused.
NOT_JSON, NOT_UTF8, LONE_SURROGATE = 1, 2, 3
_NONE = np.uint64(0)
_QUOTE, _BACKSLASH, _SLASH = 34, 92, 47
_U, _B, _F, _N, _R, _T = 117, 98, 102, 110, 114, 116


def _specials(_context: Any, data: Any, at: Any) -> Any:  # noqa: ANN401, ARG001 # numba's own protocol: types in, a signature and an emitter out
    """Return which of 64 bytes stand for more than themselves in a string.

    Parameters
    ----------
    data
        Bytes; 64 can be read from the place on.
    at
        The place of the first.

    Returns
    -------
    uint64
        A bit for each quote, backslash, control character and byte beyond ASCII; the first byte's
        is the lowest.
    """
    return types.uint64(data, types.int64), _emit


def _emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ANN401 # llvmlite ships no types
    vector = ir.VectorType(ir.IntType(8), WIDTH)
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
    found = builder.load(place, align=1)

    def every(byte: int) -> Any:  # noqa: ANN401
        return ir.Constant(vector, [byte] * WIDTH)

    # Bytes beyond ASCII are negative where bytes have signs: below the first that is no control.
    low = builder.icmp_signed("<", found, every(32))
    quote = builder.icmp_unsigned("==", found, every(_QUOTE))
    backslash = builder.icmp_unsigned("==", found, every(_BACKSLASH))
    return builder.bitcast(builder.or_(builder.or_(low, quote), backslash), ir.IntType(64))


#: The intrinsic, under the type that its callers see.
specials: Callable[..., np.uint64] = intrinsic(_specials)


@njit_unchecked
def _hex_at(data: NDArray[np.uint8], at: int) -> int:
    """Return what four hexadecimal digits stand for, or -1 if one of them isn't one."""
    value = 0
    for i in range(4):
        byte = int(data[at + i])
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= byte <= 102:
            digit = byte - 87
        elif 65 <= byte <= 70:
            digit = byte - 55
        else:
            return -1
        value = value * 16 + digit
    return value


@njit_unchecked
def _escape_end(data: NDArray[np.uint8], at: int) -> int:
    """Return where an escape ends that begins with a backslash; else why not, negative."""
    byte = int(data[at + 1])
    if byte != _U:
        known = byte in (_QUOTE, _BACKSLASH, _SLASH, _B, _F, _N, _R, _T)
        return at + 2 if known else -NOT_JSON
    unit = _hex_at(data, at + 2)
    if unit < 0:
        return -NOT_JSON
    if unit < 0xD800 or unit > 0xDFFF:
        return at + 6
    if unit > 0xDBFF or data[at + 6] != _BACKSLASH or data[at + 7] != _U:
        return -LONE_SURROGATE
    second = _hex_at(data, at + 8)
    if second < 0:
        return -NOT_JSON
    return at + 12 if 0xDC00 <= second <= 0xDFFF else -LONE_SURROGATE


@njit_unchecked
def _beyond_ascii_end(data: NDArray[np.uint8], at: int) -> int:
    """Return where a run of bytes beyond ASCII ends; -NOT_UTF8 if it isn't UTF-8.

    RFC 3629, section 4: no overlong forms, no surrogates, nothing beyond U+10FFFF.
    """
    while True:
        first = int(data[at])
        if first < 0x80:
            return at
        second = int(data[at + 1])
        if first < 0xC2 or first > 0xF4 or second & 0xC0 != 0x80:
            return -NOT_UTF8
        if first < 0xE0:
            at += 2
            continue
        if data[at + 2] & 0xC0 != 0x80:
            return -NOT_UTF8
        if first < 0xF0:
            if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
                return -NOT_UTF8
            at += 3
            continue
        if data[at + 3] & 0xC0 != 0x80:
            return -NOT_UTF8
        if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
            return -NOT_UTF8
        at += 4


@njit_unchecked
def string_end(data: NDArray[np.uint8], at: int) -> int:
    """Find the quote that ends a string, and see whether all before it is valid.

    Parameters
    ----------
    data
        JSON; a line end follows the last byte, and 64 bytes can be read behind it.
    at
        The place behind the quote that begins it.

    Returns
    -------
    int
        Twice the place of the closing quote, plus one if there are escapes before it; negative if
        the string is refused: -`NOT_JSON`, -`NOT_UTF8` or -`LONE_SURROGATE`.
    """
    escaped = 0
    while True:
        found = specials(data, at)
        if found == _NONE:
            at += WIDTH
            continue
        at += lowest(found)
        byte = data[at]
        if byte == _QUOTE:
            return 2 * at + escaped
        if byte == _BACKSLASH:
            escaped = 1
            # Escapes come in runs: text of other scripts that was written as ASCII.
            while data[at] == _BACKSLASH:
                at = _escape_end(data, at)
                if at < 0:
                    return at
        elif byte >= 0x80:
            at = _beyond_ascii_end(data, at)
            if at < 0:
                return at
        else:
            return -NOT_JSON


@njit_unchecked
def _put_character(data: NDArray[np.uint8], at: int, code: int) -> int:  # noqa: PLR0911 # a form each
    """Write a character in its shortest form; return the place behind it."""
    if code in (_QUOTE, _BACKSLASH):
        data[at], data[at + 1] = _BACKSLASH, code
        return at + 2
    if code < 0x20:
        letter = 0
        if code == 8:
            letter = _B
        elif code == 9:
            letter = _T
        elif code == 10:
            letter = _N
        elif code == 12:
            letter = _F
        elif code == 13:
            letter = _R
        data[at] = _BACKSLASH
        if letter:
            data[at + 1] = letter
            return at + 2
        low = code & 15
        data[at + 1], data[at + 2], data[at + 3] = _U, 48, 48
        data[at + 4] = 48 + (code >> 4)
        data[at + 5] = 48 + low if low < 10 else 87 + low
        return at + 6
    if code < 0x80:
        data[at] = code
        return at + 1
    if code < 0x800:
        data[at], data[at + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return at + 2
    if code < 0x10000:
        data[at], data[at + 1] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63
        data[at + 2] = 0x80 | code & 63
        return at + 3
    data[at], data[at + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    data[at + 2], data[at + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return at + 4


@njit_unchecked
def shorten(data: NDArray[np.uint8], start: int, stop: int) -> int:
    """Rewrite a valid string in its shortest form, in place: no form is longer than what it was.

    Parameters
    ----------
    data
        Written.
    start, stop
        The string without its quotes.

    Returns
    -------
    int
        Where it ends now.
    """
    at = to = start
    while at < stop:
        byte = data[at]
        if byte != _BACKSLASH:
            data[to] = byte
            to += 1
            at += 1
            continue
        letter = data[at + 1]
        if letter == _SLASH:
            data[to] = _SLASH
            to += 1
            at += 2
        elif letter != _U:
            data[to], data[to + 1] = _BACKSLASH, letter
            to += 2
            at += 2
        else:
            code = _hex_at(data, at + 2)
            at += 6
            if 0xD800 <= code <= 0xDBFF:
                code = 0x10000 + ((code - 0xD800) << 10) + (_hex_at(data, at + 2) - 0xDC00)
                at += 6
            to = _put_character(data, to, code)
    return to


@njit_unchecked
def move_right(data: NDArray[np.uint8], start: int, end: int, stop: int) -> int:
    """Let a key that became shorter end where it did before; spaces stand where it began.

    The line means what it meant, so that it can be read from the key on again.

    Parameters
    ----------
    data
        Written.
    start, end, stop
        The place behind the key's first quote, where its text ends, and where its last quote is.

    Returns
    -------
    int
        Where its text begins now.
    """
    shift = stop - end
    for i in range(end - 1, start - 1, -1):
        data[i + shift] = data[i]
    for i in range(start - 1, start + shift - 1):
        data[i] = 32
    data[start + shift - 1] = _QUOTE
    return start + shift
