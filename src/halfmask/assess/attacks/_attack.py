"""What an attack is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from halfmask.assess.attacks._outcome import Outcome


@runtime_checkable
class Attack(Protocol):
    """One attack with its settings: a value that is run on one target at a time.

    An attack never checks whether its target is protected: the battery runs it on both.
    """

    #: Its name in reports, with its family, such as ``"membership/lira"``.
    name: ClassVar[str]
    #: The type of its target, such as ``ModelTarget``.
    attacks: ClassVar[type]

    def missing_inputs(self, target: Any) -> str:  # noqa: ANN401 # one of the targets
        """Return which inputs of this attack the target lacks; empty if it has them all.

        Parameters
        ----------
        target
            The target, of the type in `attacks`.
        """

    def run(self, target: Any, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ANN401 # the same
        """Attack, and return one outcome for each measure and group.

        Parameters
        ----------
        target
            The target, of the type in `attacks`.
        random_state
            The seed of all that is random.
        """
