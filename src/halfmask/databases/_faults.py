"""Several errors told at once: who mends a policy shouldn't need a run for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask._errors import HalfmaskError


def raise_all(faults: Sequence[HalfmaskError]) -> None:
    """Raise errors as one, of the class of the first; of none, do nothing."""
    if len(faults) == 1:
        raise faults[0]
    if faults:
        hints = dict.fromkeys(it.hint for it in faults if it.hint)
        told = "\n".join(f"- {it.what}" for it in faults)
        raise type(faults[0])(
            f"There are {len(faults)} faults:\n{told}", hint=" ".join(hints) or None
        )
