"""What an attack is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome

__all__ = ["Attack"]


@runtime_checkable
class Attack(Protocol):
    """One attack with its settings: a value that is run on one target at a time.

    It never looks at whether its target is protected: the battery runs it on both and compares.
    """

    #: How it is called in reports: its family and its name, such as ``"membership/lira"``.
    name: ClassVar[str]
    #: What it attacks: the type of its target, such as ``ModelTarget``.
    attacks: ClassVar[type]

    def lacks(self, target: Any) -> str:  # noqa: ANN401 # one of the targets
        """Return what the target would have to have for this attack; empty if it has it all."""

    def run(self, target: Any, *, seed: int) -> tuple[Outcome, ...]:  # noqa: ANN401 # the same
        """Attack, and return what was measured: by each measure, on everyone and on subgroups."""
