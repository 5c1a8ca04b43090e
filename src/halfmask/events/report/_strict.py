"""The gate of a strict run: an output with something to warn of doesn't get its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.events.report._risk import counted_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.running._run_summary import RunSummary


def strict_gate(policy: EventPolicy) -> Callable[[Iterator[bytes], RunSummary], None]:
    """Return the `gate` of `run_events` that refuses outputs with a warning.

    Parameters
    ----------
    policy
        By which the run is made.

    Returns
    -------
    callable
        Raises `GuaranteeNotMetError` with the first warning: of the run (events are lost, nothing
        was written), or of the risk in the first released events.
    """

    def gate(lines: Iterator[bytes], summary: RunSummary) -> None:
        for warning in summary.warnings():
            raise GuaranteeNotMetError(warning, hint=_AGAIN)
        risk = counted_in(policy, lines)
        if risk.warning is not None:
            raise GuaranteeNotMetError(risk.warning, hint=risk.advice)

    return gate


_AGAIN = (
    "Change the policy or the input. Without [[the gate the same run|--strict the same "
    "command]] releases the output."
)
