"""Walk JSON lines once: validate all, and note where the values of named paths stand.

The loop can be left and entered again at any value or key: it stops where its tape is full or where
a key is met that only its caller can place, and what it knows by then is in arrays. So nothing is
read twice, whatever is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.kernels.json_keys import child_of
from halfmask.kernels.json_scalars import FALSE, INTEGER, NUMBER, after_space, number_end, word_kind
from halfmask.kernels.json_strings import NOT_JSON, shorten, string_end
from halfmask.kernels.lean import swift
from halfmask.kernels.wide_loads import WIDTH, lowest, matches

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DONE",
    "DUPLICATE_KEY",
    "FULL",
    "NEW_ELEMENT",
    "NEW_KEY",
    "NOT_AN_OBJECT",
    "OPEN_ELEMENTS",
    "OPEN_KEYS",
    "RECORDED",
    "TOO_DEEP",
    "TOO_LONG",
    "TOO_MANY_PATHS",
    "State",
    "count_lines",
    "scan_lines",
]

#: Why the loop was left: at the end; no room on the tape; an unknown key at a node whose keys are
#: open; an array at a node whose elements are.
DONE, FULL, NEW_KEY, NEW_ELEMENT = 0, 1, 2, 3
#: Why a line is refused, besides the reasons of `json_strings`.
TOO_DEEP, TOO_LONG, DUPLICATE_KEY, NOT_AN_OBJECT, TOO_MANY_PATHS = 4, 5, 6, 7, 8
#: What is done at a node: its values are noted; unknown keys, or elements, are told to the caller.
RECORDED, OPEN_KEYS, OPEN_ELEMENTS = 1, 2, 4


_AT, _PHASE, _DEPTH, _NODE, _SLOT, _LINE_NUMBER, _BEGIN, _END = range(8)
_EVENTS, _BAD, _TAPE, _MARK, _SERIAL, _KEY_START, _KEY_STOP, _REFUSED = range(8, 16)
_LINE, _VALUE, _KEY, _AFTER, _REFUSE = range(5)


class State:
    """Places in the array of what a scan knows when it is left; zeros where it begins.

    It goes on at the byte AT; LINE is the number of the last line that was begun. EVENTS, BAD and
    TAPE count what was written so far. NODE is where a key (from KEY_START to KEY_STOP) or an array
    was met that only the caller can place. With REFUSED set to a reason, the scan goes on behind
    the line that it was in.
    """

    AT, NODE, LINE, REFUSED = _AT, _NODE, _LINE_NUMBER, _REFUSED
    EVENTS, BAD, TAPE = _EVENTS, _BAD, _TAPE
    KEY_START, KEY_STOP, SIZE = _KEY_START, _KEY_STOP, 16


#: The kinds that `halfmask.events` has for other values than those of `json_scalars`.
_STRING, _OBJECT, _ARRAY = 6, 7, 8
#: What the stack has instead of an entry of the tape: an object; an array that isn't noted.
_IN_OBJECT, _IN_ARRAY = -2, -1
_NONE, _ONE = np.uint64(0), np.uint64(1)
_NEWLINE = np.uint8(10)
_QUOTE, _COMMA, _COLON, _MINUS = 34, 44, 58, 45
_SQUARE, _END_SQUARE, _CURLY, _END_CURLY = 91, 93, 123, 125


@swift
def count_lines(data: NDArray[np.uint8], size: int) -> int:
    """Return how many line ends there are.

    Parameters
    ----------
    data, size
        Text and its size; 64 bytes can be read behind it.
    """
    count = 0
    for at in range(0, size, WIDTH):
        found = matches(data, at, _NEWLINE)
        if size - at < WIDTH:
            found &= (_ONE << np.uint64(size - at)) - _ONE
        while found != _NONE:
            count += 1
            found &= found - _ONE
    return count


@swift
def _line_end(data: NDArray[np.uint8], at: int) -> int:
    """Return the place of the next line end; there is one."""
    found = matches(data, at, _NEWLINE)
    while found == _NONE:
        at += WIDTH
        found = matches(data, at, _NEWLINE)
    return at + lowest(found)


@swift
def _move_right(data: NDArray[np.uint8], start: int, end: int, stop: int) -> int:
    """Let a key that became shorter end where it did before; spaces stand where it began.

    `start` is behind the key's first quote, `end` where its text ends and `stop` where its last
    quote is; returned is where its text begins now. The line means what it meant, so that it can be
    read from the key on again.
    """
    shift = stop - end
    for i in range(end - 1, start - 1, -1):
        data[i + shift] = data[i]
    for i in range(start - 1, start + shift - 1):
        data[i] = 32
    data[start + shift - 1] = _QUOTE
    return start + shift


@swift
def _forget_line(
    tape: NDArray[np.int32],
    mark: int,
    count: int,
    element: NDArray[np.int32],
    level: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Take back the slots that a line's arrays took."""
    for entry in range(count - 1, mark - 1, -1):
        node = tape[entry, 3] >> 4
        if tape[entry, 3] & 15 == _ARRAY and element[node] >= 0:
            counts[level[element[node]]] = tape[entry, 1]


@swift
def scan_lines(
    data: NDArray[np.uint8],
    size: int,
    deepest: int,
    longest: int,
    state: NDArray[np.int64],
    stack: NDArray[np.int64],
    flags: NDArray[np.uint8],
    element: NDArray[np.int32],
    level: NDArray[np.int32],
    parents: NDArray[np.int32],
    spans: NDArray[np.int64],
    names: NDArray[np.uint8],
    table: NDArray[np.int32],
    stamps: NDArray[np.int64],
    counts: NDArray[np.int64],
    tape: NDArray[np.int32],
    lines: NDArray[np.int64],
    bad: NDArray[np.int64],
) -> int:
    """Scan lines until they end, or until the caller is needed.

    Parameters
    ----------
    data, size
        JSON lines and their size; the last byte is a line end, `WIDTH` line ends more can be read
        behind it. Named strings and keys with escapes are rewritten in place, in canonical form.
    deepest, longest
        How many containers may be within each other, and how many bytes a line may have.
    state
        See `State`; written.
    stack
        A row for each container that may be open: its node (of an array: its elements'), slot,
        serial and entry of the tape.
    flags, element, level
        Of each node: what is done there; the node of its elements, -1 if they are skipped; the
        number of the level that its slots are at.
    parents, spans, names, table
        As of `json_keys.child_of`. The root is node 0.
    stamps
        Of each node: the serial of the last object that had its key.
    counts
        Of each level: how many slots it has; written. Events aren't counted here.
    tape
        Written: slot, start, stop, and 16 times the node plus the kind, of each value that is
        noted; of an array its first element's slot, and how many there are.
    lines
        Written: the number of each event's line.
    bad
        Written: number of line, reason, start and stop of each line that is refused.

    Returns
    -------
    int
        `DONE`, `FULL`, `NEW_KEY` or `NEW_ELEMENT`.
    """
    at, phase, depth, node = state[_AT], state[_PHASE], state[_DEPTH], state[_NODE]
    slot, number, begin, end = state[_SLOT], state[_LINE_NUMBER], state[_BEGIN], state[_END]
    events, refused, count = state[_EVENTS], state[_BAD], state[_TAPE]
    mark, serial, error = state[_MARK], state[_SERIAL], state[_REFUSED]
    result = -1
    if error:
        phase = _REFUSE
    while result < 0:
        if phase == _VALUE:
            at = after_space(data, at)
            byte = data[at]
            if node >= 0 and count == len(tape):
                result = FULL
                break
            kind, start, stop = 0, at, at
            if byte == _QUOTE:
                found = string_end(data, at + 1)
                if found >= 0:
                    start, stop = at + 1, found >> 1
                    at = stop + 1
                    kind = _STRING
                    if found & 1 and node >= 0:
                        stop = shorten(data, start, stop)
                else:
                    error = -found
            elif byte == _CURLY:
                if depth == deepest:
                    error = TOO_DEEP
                else:
                    serial += 1
                    stack[depth, 0], stack[depth, 1] = node, slot
                    stack[depth, 2], stack[depth, 3] = serial, _IN_OBJECT
                    if node >= 0 and flags[node] & RECORDED:
                        tape[count, 0], tape[count, 1], tape[count, 2] = slot, 0, 0
                        tape[count, 3] = node << 4 | _OBJECT
                        count += 1
                    at = after_space(data, at + 1)
                    if data[at] == _END_CURLY:
                        at += 1
                        phase = _AFTER
                    else:
                        depth += 1
                        phase = _KEY
                    continue
            elif byte == _SQUARE:
                if depth == deepest:
                    error = TOO_DEEP
                else:
                    entry, child, first = _IN_ARRAY, -1, 0
                    if node >= 0:
                        child = int(element[node])
                        if child >= 0:
                            first = counts[level[child]]
                        elif flags[node] & OPEN_ELEMENTS:
                            result = NEW_ELEMENT
                            break
                        if child >= 0 or flags[node] & RECORDED:
                            tape[count, 0], tape[count, 1], tape[count, 2] = slot, first, 0
                            tape[count, 3] = node << 4 | _ARRAY
                            entry = count
                            count += 1
                    at = after_space(data, at + 1)
                    if data[at] == _END_SQUARE:
                        at += 1
                        phase = _AFTER
                        continue
                    stack[depth, 0], stack[depth, 3] = child, entry
                    depth += 1
                    node = child
                    if child >= 0:
                        slot = first
                        counts[level[child]] = first + 1
                    continue
            elif byte == _MINUS or 48 <= byte <= 57:
                found = number_end(data, at)
                if found >= 0:
                    stop = found >> 1
                    at = stop
                    kind = NUMBER if found & 1 else INTEGER
            else:
                kind = word_kind(data, at)
                at += 5 if kind == FALSE else 4
                stop = at
            if kind == 0:
                if error == 0:
                    error = NOT_JSON
                phase = _REFUSE
                continue
            if node >= 0 and flags[node] & RECORDED:
                tape[count, 0], tape[count, 1], tape[count, 2] = slot, start, stop
                tape[count, 3] = node << 4 | kind
                count += 1
            phase = _AFTER
        if phase == _AFTER and depth > 0:
            at = after_space(data, at)
            byte = data[at]
            entry = stack[depth - 1, 3]
            if byte == _COMMA:
                at += 1
                if entry == _IN_OBJECT:
                    phase = _KEY
                else:
                    phase = _VALUE
                    node = stack[depth - 1, 0]
                    if node >= 0:
                        slot = counts[level[node]]
                        counts[level[node]] = slot + 1
                    continue
            elif byte == _END_CURLY and entry == _IN_OBJECT:
                at += 1
                depth -= 1
                continue
            elif byte == _END_SQUARE and entry != _IN_OBJECT:
                at += 1
                depth -= 1
                if entry >= 0 and stack[depth, 0] >= 0:
                    tape[entry, 2] = counts[level[stack[depth, 0]]] - tape[entry, 1]
                continue
            else:
                error = NOT_JSON
                phase = _REFUSE
        if phase == _KEY:
            at = after_space(data, at)
            if data[at] != _QUOTE:
                error = NOT_JSON
                phase = _REFUSE
                continue
            found = string_end(data, at + 1)
            if found < 0:
                error = -found
                phase = _REFUSE
                continue
            start, stop = at + 1, found >> 1
            node = stack[depth - 1, 0]
            child = -1
            if node >= 0:
                if found & 1:
                    start = _move_right(data, start, shorten(data, start, stop), stop)
                child = child_of(data, start, stop, node, parents, spans, names, table)
                if child >= 0:
                    if stamps[child] == stack[depth - 1, 2]:
                        error = DUPLICATE_KEY
                        phase = _REFUSE
                        continue
                    stamps[child] = stack[depth - 1, 2]
                elif flags[node] & OPEN_KEYS:
                    at = start - 1
                    state[_KEY_START], state[_KEY_STOP] = start, stop
                    result = NEW_KEY
                    break
            at = after_space(data, stop + 1)
            if data[at] != _COLON:
                error = NOT_JSON
                phase = _REFUSE
                continue
            at += 1
            slot = stack[depth - 1, 1]
            node = child
            phase = _VALUE
            continue
        if phase == _AFTER:
            at = after_space(data, at)
            if at != end:
                error = NOT_JSON
                phase = _REFUSE
            elif stack[0, 0] < 0:
                error = NOT_AN_OBJECT
                phase = _REFUSE
            else:
                lines[events] = number
                events += 1
                at = end + 1
                phase = _LINE
        if phase == _REFUSE:
            _forget_line(tape, mark, count, element, level, counts)
            count = mark
            bad[refused, 0], bad[refused, 1], bad[refused, 2], bad[refused, 3] = (
                number,
                error,
                begin,
                end,
            )
            refused += 1
            error = 0
            at = end + 1
            phase = _LINE
        if phase == _LINE:
            if at >= size:
                result = DONE
                break
            number += 1
            begin, end = at, _line_end(data, at)
            at = after_space(data, at)
            if at == end:
                at += 1
                continue
            mark = count
            depth = 0
            slot = events
            node = 0 if data[at] == _CURLY else -1
            stack[0, 0] = node
            if end - begin > longest:
                error = TOO_LONG
                phase = _REFUSE
            else:
                phase = _VALUE
    state[_AT], state[_PHASE], state[_DEPTH], state[_NODE] = at, phase, depth, node
    state[_SLOT], state[_LINE_NUMBER], state[_BEGIN], state[_END] = slot, number, begin, end
    state[_EVENTS], state[_BAD], state[_TAPE] = events, refused, count
    state[_MARK], state[_SERIAL], state[_REFUSED] = mark, serial, error
    return result
