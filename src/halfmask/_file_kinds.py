"""What kind of TOML file is given, told by its first key: so that an error can say whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from halfmask._errors import HalfmaskError

FileKind: TypeAlias = Literal["halfmask", "halfmask-database", "halfmask-events", "halfmask-table"]

_SAID: Final[Mapping[str, tuple[str, str]]] = {
    "halfmask": ("a policy of tables", "halfmask protect"),
    "halfmask-database": (
        "a policy of a database",
        "halfmask protect and reverse with URLs of databases",
    ),
    "halfmask-events": ("a policy of events", "halfmask events run, verify and reverse"),
    "halfmask-table": ("a secret table of events", "halfmask events table set"),
}


def check_kind(said: Mapping[str, object], wanted: FileKind, error: type[HalfmaskError]) -> None:
    """Raise where what a file says is of another kind of ours than is wanted.

    Examples
    --------
    >>> from halfmask._errors import PolicyError
    >>> try:
    ...     check_kind({"halfmask-events": 1}, "halfmask", PolicyError)
    ... except PolicyError as error:
    ...     print(error.what)
    This is a policy of events; a policy of tables is wanted.
    """
    if wanted in said:
        return
    for key, (what, commands) in _SAID.items():
        if key in said:
            raise error(
                f"This is {what}; {_SAID[wanted][0]} is wanted.",
                hint=f"{what.capitalize()} is for: {commands}.",
            )
