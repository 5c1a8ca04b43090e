"""KINDS: the one registry of kinds of release; the policy says which kind it wants."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from halfmask.release.release import ReleaseKind

#: Each kind by its name, or the module that has it as ``KIND`` and is loaded when it is asked for.
KINDS: Final[dict[str, ReleaseKind[Any] | str]] = {
    "microdata": "halfmask.microdata._classes",
    "masked": "halfmask.microdata.masked",
    "synthetic": "halfmask.microdata.synthetic",
    "private-microdata": "halfmask.microdata._private",
    "database": "halfmask.databases._database",
    "tables": "halfmask.crosstabs._release",
    "private-answer": "halfmask.dp.queries._release_answer",
    "private-model": "halfmask.dp.learning._release_model",
    "privacy-ledger": "halfmask.dp.ledger._release_ledger",
}


def add_kind(kind: ReleaseKind[Any]) -> None:
    """Add a kind of release, so that `halfmask.protect` makes it by its policies.

    Parameters
    ----------
    kind
        Its functions. A policy asks for it by a property ``kind``, and has a ``sha256``.

    Raises
    ------
    ParameterError
        If there is a kind of that name.

    See Also
    --------
    halfmask.verifier.add_check : Adds the check of a claim.
    """
    if kind.name in KINDS:
        raise ParameterError(f"There is a kind of release {kind.name!r} already.")
    KINDS[kind.name] = kind


def kind_named(name: str) -> ReleaseKind[Any]:
    """Return a kind of release."""
    found = KINDS.get(name)
    if found is None:
        raise ParameterError(
            f"There is no kind of release {name!r}.", hint="Add it with halfmask.release.add_kind."
        )
    if isinstance(found, str):
        kind: ReleaseKind[Any] = importlib.import_module(found).KIND
        KINDS[name] = found = kind
    return found
