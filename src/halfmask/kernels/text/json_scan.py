"""Walk JSON lines once: validate all, and note where the values of named paths stand.

The loop can be left and entered again at any value or key: it stops where a value has no room or
where a key is met that only its caller can place, and what it knows by then is in arrays. So
nothing is read twice, whatever is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.kernels.compiling import njit_unchecked
from halfmask.kernels.text.json_gaps import CHILD, GAP, LENGTH, LONGEST, gap_after, is_gap, remember
from halfmask.kernels.text.json_keys import child_of
from halfmask.kernels.text.json_log import SLOTS, forget_line
from halfmask.kernels.text.json_scalars import (
    FALSE,
    INTEGER,
    NUMBER,
    after_space,
    number_end,
    word_kind,
)
from halfmask.kernels.text.json_state import (
    DONE,
    DUPLICATE_KEY,
    FRAME,
    FULL,
    NEW_ELEMENT,
    NEW_KEY,
    NOT_AN_OBJECT,
    OPEN_ELEMENTS,
    OPEN_KEYS,
    RECORDED,
    TOO_DEEP,
    TOO_LONG,
    State,
)
from halfmask.kernels.text.json_strings import NOT_JSON, move_right, shorten, specials, string_end
from halfmask.kernels.text.line_ends import line_end
from halfmask.kernels.text.wide_loads import WIDTH, lowest, peek, poke

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["scan_lines"]

_AT, _PHASE, _DEPTH, _NODE = State.AT, State.PHASE, State.DEPTH, State.NODE
_SLOT, _LINE_NUMBER, _BEGIN, _END = State.SLOT, State.LINE, State.BEGIN, State.END
_EVENTS, _BAD, _LOGGED, _GAPS = State.EVENTS, State.BAD, State.LOGGED, State.GAPS
_SERIAL, _REFUSED = State.SERIAL, State.REFUSED
_KEY_START, _KEY_STOP = State.KEY_START, State.KEY_STOP
_LINE, _VALUE, _KEY, _AFTER, _REFUSE = range(5)
#: Parts of a container in the stack: the node of it (of an array: of its elements), its slot, the
#: object's serial, what it is, and the gap before it.
_HOLDER, _PLACE, _OWN, _ENTRY, _BEFORE = range(FRAME)
#: It is an object; an array that isn't noted; else what the log has of an array that is.
_IN_OBJECT, _IN_ARRAY = -2, -1

#: The kinds that `halfmask.events` has for other values than those of `json_scalars`.
_STRING, _OBJECT, _ARRAY = 6, 7, 8
_QUOTE, _COMMA, _COLON, _MINUS = 34, 44, 58, 45
_SQUARE, _END_SQUARE, _CURLY, _END_CURLY = 91, 93, 123, 125


@njit_unchecked
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
    firsts: NDArray[np.int64],
    gaps: NDArray[np.int64],
    counts: NDArray[np.int64],
    base: NDArray[np.int64],
    room: NDArray[np.int64],
    limit: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    log: NDArray[np.int64],
    lines: NDArray[np.int64],
    bad: NDArray[np.int64],
) -> int:
    """Scan lines until they end, or until the caller is needed.

    Parameters
    ----------
    data, size
        JSON lines and their size; the last byte is a line end, `WIDTH` line ends more can be read
        behind it, twice. Named strings and keys with escapes are rewritten in place, in canonical
        form.
    deepest, longest
        How many containers may be within each other, and how many bytes a line may have.
    state
        See `State`; written.
    stack
        `FRAME` numbers for each container that may be open, and one more.
    flags, element, level
        Of each node: what is done there; the node of its elements, -1 if they are skipped; the
        number of the level that its slots are at.
    parents, spans, names, table
        As of `json_keys.child_of`. The root is node 0.
    stamps
        Of each node: the serial of the last object that had its key.
    firsts
        Of each node: the gap before the first value of its objects, -1 at first; written.
    gaps
        `GAP` numbers for each gap that is remembered; written.
    counts
        Of each level: how many slots it has; written. Events aren't counted here.
    base, room
        Of each node: where its slots begin in `kinds`, `starts` and `stops`, and how many there is
        room for.
    limit
        The same for values without others in them: 0 where they aren't noted.
    kinds, starts, stops
        Written: the kind of each value that is noted, and where it stands; of an array its first
        element's slot, and how many there are. Zeros at first.
    log
        Written: which values the line noted; longer than half of any line.
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
    events, refused, logged = state[_EVENTS], state[_BAD], state[_LOGGED]
    met, serial, error = state[_GAPS], state[_SERIAL], state[_REFUSED]
    result = -1
    # The gap before the last value of the object, -1 if it isn't known; where the next one begins,
    # and whether that is the first.
    gap, opened, leading = -1, -1, False
    if error:
        phase = _REFUSE
    while result < 0:
        while phase == _VALUE:
            byte = peek(data, at)
            if byte <= 32:
                at = after_space(data, at)
                byte = peek(data, at)
            kind, start, stop, came = 0, at, at, at
            if byte == _QUOTE:
                start = at + 1
                stop = start + lowest(specials(data, start))
                if peek(data, stop) == _QUOTE and stop < start + WIDTH:
                    at = stop + 1
                    kind = _STRING
                else:
                    found = string_end(data, start)
                    if found >= 0:
                        stop = found >> 1
                        at = stop + 1
                        kind = _STRING
                        if found & 1 and node >= 0:
                            if slot >= peek(room, node):
                                at = came
                                result = FULL
                                break
                            stop = shorten(data, start, stop)
                    else:
                        error = -found
            elif byte == _CURLY:
                if node >= 0 and slot >= peek(room, node):
                    result = FULL
                    break
                if depth == deepest:
                    error = TOO_DEEP
                else:
                    serial += 1
                    frame = depth * FRAME
                    poke(stack, frame + _HOLDER, node)
                    poke(stack, frame + _PLACE, slot)
                    poke(stack, frame + _OWN, serial)
                    poke(stack, frame + _ENTRY, _IN_OBJECT)
                    poke(stack, frame + _BEFORE, gap)
                    at += 1
                    opened, leading = at, True
                    if node >= 0:
                        if peek(flags, node) & RECORDED:
                            poke(kinds, peek(base, node) + slot, _OBJECT)
                            poke(log, logged, node << 32 | slot)
                            logged += 1
                        first = peek(firsts, node)
                        if first >= 0 and is_gap(data, at, first, -1 - node, gaps):
                            gap = first
                            at += peek(gaps, gap * GAP + LENGTH)
                            node = peek(gaps, gap * GAP + CHILD)
                            if node >= 0:
                                poke(stamps, node, serial)
                            depth += 1
                            continue
                    at = after_space(data, at)
                    if peek(data, at) == _END_CURLY:
                        at += 1
                        phase = _AFTER
                    else:
                        gap = -1
                        depth += 1
                        phase = _KEY
                    continue
            elif byte == _SQUARE:
                if node >= 0 and slot >= peek(room, node):
                    result = FULL
                    break
                if depth == deepest:
                    error = TOO_DEEP
                else:
                    entry, child, first = _IN_ARRAY, -1, 0
                    if node >= 0:
                        child = peek(element, node)
                        if child >= 0:
                            first = peek(counts, peek(level, child))
                        elif peek(flags, node) & OPEN_ELEMENTS:
                            result = NEW_ELEMENT
                            break
                        if child >= 0 or peek(flags, node) & RECORDED:
                            place = peek(base, node) + slot
                            poke(kinds, place, _ARRAY)
                            poke(starts, place, first)
                            poke(stops, place, 0)
                            entry = node << 32 | slot
                            poke(log, logged, entry)
                            logged += 1
                    at = after_space(data, at + 1)
                    if peek(data, at) == _END_SQUARE:
                        at += 1
                        phase = _AFTER
                        continue
                    frame = depth * FRAME
                    poke(stack, frame + _HOLDER, child)
                    poke(stack, frame + _ENTRY, entry)
                    poke(stack, frame + _BEFORE, gap)
                    gap = -1
                    depth += 1
                    node = child
                    if child >= 0:
                        slot = first
                        poke(counts, peek(level, child), first + 1)
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
            if node >= 0:
                if slot < peek(limit, node):
                    place = peek(base, node) + slot
                    poke(kinds, place, kind)
                    poke(starts, place, start)
                    poke(stops, place, stop)
                    poke(log, logged, node << 32 | slot)
                    logged += 1
                elif peek(flags, node) & RECORDED:
                    at = came
                    result = FULL
                    break
            phase = _AFTER
        while phase == _AFTER and depth > 0:
            frame = (depth - 1) * FRAME
            if gap >= 0:
                found = gap_after(data, at, gap, peek(stack, frame + _HOLDER), gaps)
                if found >= 0:
                    gap = found
                    at += peek(gaps, gap * GAP + LENGTH)
                    node = peek(gaps, gap * GAP + CHILD)
                    slot = peek(stack, frame + _PLACE)
                    phase = _VALUE
                    if node >= 0:
                        if peek(stamps, node) == peek(stack, frame + _OWN):
                            error = DUPLICATE_KEY
                            phase = _REFUSE
                        poke(stamps, node, peek(stack, frame + _OWN))
                    continue
            opened, leading = at, False
            byte = peek(data, at)
            if byte <= 32:
                at = after_space(data, at)
                byte = peek(data, at)
            entry = peek(stack, frame + _ENTRY)
            if byte == _COMMA:
                at += 1
                if entry == _IN_OBJECT:
                    phase = _KEY
                else:
                    phase = _VALUE
                    node = peek(stack, frame + _HOLDER)
                    if node >= 0:
                        slot = peek(counts, peek(level, node))
                        poke(counts, peek(level, node), slot + 1)
                    continue
            elif byte == _END_CURLY and entry == _IN_OBJECT:
                at += 1
                depth -= 1
                gap = peek(stack, frame + _BEFORE)
                continue
            elif byte == _END_SQUARE and entry != _IN_OBJECT:
                at += 1
                depth -= 1
                gap = peek(stack, frame + _BEFORE)
                holder = peek(stack, frame + _HOLDER)
                if entry >= 0 and holder >= 0:
                    place = peek(base, entry >> 32) + (entry & SLOTS)
                    poke(stops, place, peek(counts, peek(level, holder)) - peek(starts, place))
                continue
            else:
                error = NOT_JSON
                phase = _REFUSE
        if phase == _KEY:
            at = after_space(data, at)
            if peek(data, at) != _QUOTE:
                error = NOT_JSON
                phase = _REFUSE
                continue
            found = string_end(data, at + 1)
            if found < 0:
                error = -found
                phase = _REFUSE
                continue
            start, stop = at + 1, found >> 1
            frame = (depth - 1) * FRAME
            node = holder = peek(stack, frame + _HOLDER)
            child = -1
            if node >= 0:
                if found & 1:
                    start = move_right(data, start, shorten(data, start, stop), stop)
                child = child_of(data, start, stop, node, parents, spans, names, table)
                if child >= 0:
                    if stamps[child] == peek(stack, frame + _OWN):
                        error = DUPLICATE_KEY
                        phase = _REFUSE
                        continue
                    stamps[child] = peek(stack, frame + _OWN)
                elif flags[node] & OPEN_KEYS:
                    at = start - 1
                    state[_KEY_START], state[_KEY_STOP] = start, stop
                    result = NEW_KEY
                    break
            at = after_space(data, stop + 1)
            if peek(data, at) != _COLON:
                error = NOT_JSON
                phase = _REFUSE
                continue
            at = after_space(data, at + 1)
            length = at - opened
            if holder < 0 or opened < 0 or found & 1 or length > LONGEST:
                gap = -1
            else:
                made = met % (len(gaps) // GAP)
                met += 1
                if leading:
                    remember(gaps, made, firsts[holder], -1 - holder, child, opened, length)
                    firsts[holder] = made
                else:
                    remember(gaps, made, gap, holder, child, opened, length)
                gap = made
            slot = peek(stack, frame + _PLACE)
            node = child
            phase = _VALUE
            continue
        if phase == _AFTER:
            at = after_space(data, at)
            if at != end:
                error = NOT_JSON
                phase = _REFUSE
            elif stack[_HOLDER] < 0:
                error = NOT_AN_OBJECT
                phase = _REFUSE
            else:
                lines[events] = number
                events += 1
                at = end + 1
                phase = _LINE
        if phase == _REFUSE:
            forget_line(log, logged, element, level, base, counts, kinds, starts, stops)
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
            begin, end = at, line_end(data, at)
            at = after_space(data, at)
            if at == end:
                at += 1
                number += 1
                continue
            # Two bytes hold at most one value, except brackets within brackets.
            if end - begin <= longest and (end - begin) // 2 + deepest >= len(log):
                at = begin
                node = -1
                result = FULL
                break
            number += 1
            logged = depth = 0
            slot = events
            gap = -1
            node = 0 if data[at] == _CURLY else -1
            stack[_HOLDER] = node
            if end - begin > longest:
                error = TOO_LONG
                phase = _REFUSE
            else:
                phase = _VALUE
    state[_AT], state[_PHASE], state[_DEPTH], state[_NODE] = at, phase, depth, node
    state[_SLOT], state[_LINE_NUMBER], state[_BEGIN], state[_END] = slot, number, begin, end
    state[_EVENTS], state[_BAD], state[_LOGGED] = events, refused, logged
    state[_GAPS], state[_SERIAL], state[_REFUSED] = met, serial, error
    return result
