"""What an attack is, what one declares, and Outcome: what one run of it measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

from halfmask._errors import ParameterError
from halfmask._validation import check_fields, fraction, integer_at_least, number_between
from halfmask.assess.attacks._arms import Arm, Certain, Least, difference, fewest_trials
from halfmask.assess.attacks._inputs import TakenInputs, several

if TYPE_CHECKING:
    from collections.abc import Mapping


#: The group of an outcome that is about all targets.
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one run of one attack, by one measure, on one group of targets.

    Parameters
    ----------
    attack
        The attack's name, such as ``"membership/lira"``.
    measure
        The name of the measure, such as ``"balanced accuracy"``.
    success
        The attack's success on the targets that are in the data.
    control
        The same attack on people who aren't in the data, or a random guess.
    baseline
        The attacker without the attacked output; ``None`` if the control is that.
    claimed
        The success, in [0, 1], that the release's guarantee allows, such as 1/k of links;
        ``None``: no guarantee. A reference like control and baseline.
    group
        ``EVERYONE``, or the description of a subgroup, never a cell value.
    needed
        The fewest trials of the measure; with fewer the finding is ``not shown``, unless it is
        broken beyond doubt.
    needed_of
        The unit of the trials, such as ``"non-members"``.
    census
        Whether everything was counted, such as every leaf of a tree, and nothing was guessed or
        sampled. A census needs no positive control.
    scale
        In (0, 1]: the factor of `tolerance` and `min_control_effect` for this measure. 0.03 is
        little for an accuracy, and much for true positives at 0.1 % false ones.
    control_measure
        The measure of the positive control, if unprotected data don't have this one: raw rows have
        no trained rows that differ from the original ones.
    of_one_model
        Whether the baseline is one model of other people. No bound covers that model's luck, so
        with fewer trials than needed nothing is beyond doubt.
    column
        The column of the measure, by its name.
    details
        Other numbers, by name.
    """

    attack: str
    measure: str
    success: Arm
    control: Arm
    baseline: Arm | None = None
    claimed: float | None = None
    group: str = EVERYONE
    needed: int = 0
    needed_of: str = "targets"
    census: bool = False
    scale: float = 1.0
    control_measure: str = ""
    of_one_model: bool = False
    column: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        integer_at_least(0, owner="Outcome", needed=self.needed)
        number_between(0, 1, owner="Outcome", low_open=True, scale=self.scale)
        if self.claimed is not None:
            fraction(owner="Outcome", claimed=self.claimed)

    @property
    def kind(self) -> str:
        """The measure without the column that it is of.

        Examples
        --------
        >>> arm = Certain(0.5)
        >>> of = {"attack": "a", "success": arm, "control": arm, "column": "AUC"}
        >>> Outcome(measure="accuracy of 'AUC'", **of).kind
        'accuracy of'
        """
        measure, name = self.measure, self.column
        if measure.endswith(repr(name)):
            return measure.removesuffix(repr(name)).strip()
        # it is named once, in front or behind: the same word elsewhere is what is measured
        cut = measure.removeprefix(name) if measure.startswith(name) else measure.removesuffix(name)
        return cut.strip()

    @property
    def reference(self) -> Arm:
        """What the success is compared with: the highest of control, baseline and claim."""
        return max(self._references, key=lambda arm: arm.value)

    @property
    def is_claimed(self) -> bool:
        """Whether the reference is what a guarantee concedes."""
        return self.claimed is not None and self.claimed >= self.reference.value

    @property
    def excess(self) -> Arm:
        """How much more often the attack is right than its reference."""
        arms = [_above(self.success, reference) for reference in self._references]
        return arms[0] if len(arms) == 1 else Least(tuple(arms))

    @property
    def trials(self) -> int:
        """The trials of the arm that has fewest, of those that were measured."""
        arms = (self.success, *self._references)
        if all(isinstance(arm, Certain) for arm in arms):
            return self.success.trials
        return fewest_trials(arms)

    @property
    def _references(self) -> tuple[Arm, ...]:
        """All references; of those that are known for certain the highest alone."""
        arms = [self.control, *([] if self.baseline is None else [self.baseline])]
        if self.claimed is None:
            return tuple(arms)
        known = [arm.value for arm in arms if isinstance(arm, Certain)]
        measured = [arm for arm in arms if not isinstance(arm, Certain)]
        return (Certain(max([*known, self.claimed])), *measured)


def _above(success: Arm, reference: Arm) -> Arm:
    """Return the excess over one reference: over nothing it is the arm itself, bounds exact."""
    if isinstance(reference, Certain) and reference.value == 0.0:
        return success
    return difference(success, reference)


class MeasuredExcess(NamedTuple):
    """A number and half the width of its interval."""

    value: float
    margin: float


def wilson(successes: float, trials: int) -> MeasuredExcess:
    """Return the centre and half width of Wilson's 95 % interval of a share.

    Examples
    --------
    >>> rate = wilson(850, 1000)
    >>> round(rate.value, 3), round(rate.margin, 3)
    (0.849, 0.022)
    """
    from scipy.special import ndtri  # noqa: PLC0415 # scipy loads late

    z = float(ndtri(0.975))
    n = trials + z * z
    spread = successes * (trials - successes) / trials + z * z / 4
    return MeasuredExcess((successes + z * z / 2) / n, z / n * spread**0.5)


def residual_risk(attack: MeasuredExcess, control: MeasuredExcess) -> MeasuredExcess:
    """Return (attack - control) / (1 - control), the margins propagated to first order.

    If the control always succeeds, no residual risk can be measured: 0, and a margin of 1.

    Examples
    --------
    >>> risk = residual_risk(MeasuredExcess(0.9, 0.02), MeasuredExcess(0.85, 0.02))
    >>> round(risk.value, 3), round(risk.margin, 2)
    (0.333, 0.16)
    """
    left = 1 - control.value
    if left <= 0:
        return MeasuredExcess(0.0, 1.0)
    by_attack = attack.margin / left
    by_control = control.margin * (1 - attack.value) / left**2
    return MeasuredExcess(
        (attack.value - control.value) / left, (by_attack**2 + by_control**2) ** 0.5
    )


def residual_details(attack: Arm, control: Arm) -> dict[str, float]:
    """Return the residual risk and its margin at 95 % under their names."""
    if not attack.trials or not control.trials:
        return {}
    rates = [wilson(arm.value * arm.trials, arm.trials) for arm in (attack, control)]
    risk = residual_risk(rates[0], rates[1])
    return {"residual_risk": risk.value, "residual_risk_margin": risk.margin}


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
