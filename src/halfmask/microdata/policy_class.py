"""Which class reads a policy file: of tables of people, or of tables of counts and sums."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.crosstabs import TablesPolicy
    from halfmask.microdata._policy import Policy


def policy_class(text: str) -> type[Policy | TablesPolicy]:
    """Return the class of a policy by its keys; reading it raises if it is neither."""
    try:
        is_of_tables = "halfmask-tables" in tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        is_of_tables = False
    if is_of_tables:
        from halfmask.crosstabs import TablesPolicy  # noqa: PLC0415 # people's needs no solver

        return TablesPolicy
    from halfmask.microdata._policy import Policy  # noqa: PLC0415 # either is loaded alone

    return Policy
