"""What the scanner of JSON lines and its caller know of each other."""

from __future__ import annotations

__all__ = [
    "DONE",
    "DUPLICATE_KEY",
    "FRAME",
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
]

#: Why the loop was left: at the end; no room for a value; an unknown key at a node whose keys are
#: open; an array at a node whose elements are.
DONE, FULL, NEW_KEY, NEW_ELEMENT = 0, 1, 2, 3
#: Why a line is refused, besides the reasons of `json_strings`.
TOO_DEEP, TOO_LONG, DUPLICATE_KEY, NOT_AN_OBJECT, TOO_MANY_PATHS = 4, 5, 6, 7, 8
#: What is done at a node: its values are noted; the caller gets unknown keys, or elements.
RECORDED, OPEN_KEYS, OPEN_ELEMENTS = 1, 2, 4
#: How many numbers the stack has for a container.
FRAME = 5


class State:
    """Places in the array of what a scan knows when it is left; zeros where it begins.

    It goes on at the byte AT; LINE is the number of the last line that was begun. EVENTS and BAD
    count what was written so far, LOGGED the values of the line. NODE and SLOT are where a value
    has no room, or where a key (from KEY_START to KEY_STOP) or an array was met that only the
    caller can place. With REFUSED set to a reason, the scan goes on behind the line that it was in.
    """

    AT, PHASE, DEPTH, NODE, SLOT, LINE, BEGIN, END = range(8)
    EVENTS, BAD, LOGGED, GAPS, SERIAL, KEY_START, KEY_STOP, REFUSED = range(8, 16)
    SIZE = 16
