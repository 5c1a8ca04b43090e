"""What an attack is, and what one declares: its inputs, and the bounds of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from halfmask._errors import ParameterError
from halfmask._validation import check_fields
from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._inputs import TakenInputs, several
from halfmask.assess.attacks._outcome import Outcome

if TYPE_CHECKING:
    from halfmask.assess.attacks._arms import Arm

#: Returns which input a target lacks; empty if it has it.
Need: TypeAlias = Callable[[Any], str]
#: What is reached without knowledge where nothing is certain.
NOTHING = Certain(0.0)
#: What an attack measured, one outcome or several.
Found: TypeAlias = "Outcome | Iterable[Outcome]"
_Given = TypeVar("_Given")


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

        Raises
        ------
        DataError
            If there are too few people or rows, or a model can't be trained or fails to answer.
        """


class DeclaredAttack(TakenInputs):
    """Base of our attacks: a frozen dataclass that declares its name, target and needs.

    Bounds of settings are the metadata of their fields, as `check_fields` reads them. ``of`` says
    what a list of settings holds, ``take`` how a setting is taken.
    """

    __slots__ = ()
    name: ClassVar[str]
    attacks: ClassVar[type]
    needs: ClassVar[tuple[Need, ...]] = ()

    def __init_subclass__(
        cls, *, name: str = "", target: type | None = None, needs: tuple[Need, ...] = ()
    ) -> None:
        super().__init_subclass__()
        # A dataclass with slots is made twice: the second time these are among its attributes.
        if name:
            cls.name = name
        if target is not None:
            cls.attacks = target
        if needs:
            cls.needs = needs

    def __post_init__(self) -> None:
        TakenInputs.__post_init__(self)
        for each in fields(self):  # type: ignore[arg-type] # each attack is a dataclass
            if "of" in each.metadata:
                listed = several(
                    getattr(self, each.name),
                    parameter=each.name,
                    owner=type(self).__name__,
                    of=each.metadata["of"],
                    or_none=each.metadata.get("or_none", False),
                )
                object.__setattr__(self, each.name, listed)
        check_fields(self)

    def run(self, target: Any, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ANN401 # the same
        """Attack, and return one outcome for each measure and group."""
        found = self._measure(target, random_state)
        return (found,) if isinstance(found, Outcome) else tuple(found)

    def _measure(self, target: Any, random_state: int) -> Found:  # noqa: ANN401 # the same
        """Return what the attack measures."""
        raise NotImplementedError

    def missing_inputs(self, target: Any) -> str:  # noqa: ANN401 # one of the targets
        """Return which inputs of this attack the target lacks; empty if it has them all."""
        return next((lack for need in self.needs if (lack := need(target))), "")

    def _make_outcome(
        self,
        measure: str,
        success: Arm,
        control: Arm = NOTHING,
        *,
        needed: tuple[int, str] = (0, "targets"),
        **others: Any,  # noqa: ANN401 # of an Outcome
    ) -> Outcome:
        """Return what was measured, under the name of the attack; so many of what are needed."""
        return Outcome(
            attack=self.name,
            measure=measure,
            success=success,
            control=control,
            needed=needed[0],
            needed_of=needed[1],
            **others,
        )


def given(name: str, what: str) -> Need:
    """Return the need of a field that a target may leave out."""
    return lambda target: what if getattr(target, name) is None else ""


def required(value: _Given | None, what: str) -> _Given:
    """Return an input that `missing_inputs` asks for, where an attack is run without asking."""
    if value is None:
        raise ParameterError(f"This attack needs {what}.")
    return value
