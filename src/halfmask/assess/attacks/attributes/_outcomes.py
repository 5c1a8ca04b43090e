"""Guesses of a secret column as outcomes: how often right, with precision and recall if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._outcome import EVERYONE, Outcome
from halfmask.assess.attacks.attributes._scene import NEEDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._scene import InferenceScene, Party

__all__ = ["outcomes_of"]


def outcomes_of(
    name: str,
    target: ModelTarget,
    scene: InferenceScene,
    guess: Callable[[Party], NDArray[np.int64]],
) -> Iterator[Outcome]:
    """Compare guesses about members with those about non-members, and with imputation.

    On subgroups the share that is right, where targets and controls are enough.
    """
    targets, controls = scene.targets, scene.controls
    theirs, others = guess(targets), guess(controls)
    without = scene.imputed.chances(targets.features).argmax(axis=1)
    for group, chosen, compared in _groups(target, targets, controls):
        yield Outcome(
            attack=name,
            measure=f"accuracy of {scene.secret.column!r}",
            column=str(scene.secret.column),
            success=_right(theirs, targets, chosen),
            control=_right(others, controls, compared),
            baseline=_right(without, targets, chosen),
            group=group,
            needed=NEEDED,
            needed_of="targets and controls",
            details={"values": float(len(scene.secret)), "known": float(len(scene.held_out))},
        )
    if scene.secret.positive < 0:
        return
    positive = scene.secret.positive
    for measure, of in (("precision", _among_guessed), ("recall", _among_true)):
        yield Outcome(
            attack=name,
            measure=f"{measure} of {scene.secret.column!r}",
            column=str(scene.secret.column),
            success=of(theirs, targets, positive),
            control=of(others, controls, positive),
            baseline=of(without, targets, positive),
            needed=NEEDED,
            needed_of="people of the positive value, guessed and true",
        )


def _groups(
    target: ModelTarget, targets: Party, controls: Party
) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return everyone, and each subgroup that is large enough on both sides."""
    yield EVERYONE, np.ones(len(targets), bool), np.ones(len(controls), bool)
    if target.groups is None:
        return
    names, numbers = target.groups
    ours = np.asarray(numbers)[targets.places]
    theirs = np.asarray(numbers)[controls.places + target.n_members]
    for number, name in enumerate(names):
        chosen, compared = ours == number, theirs == number
        if min(chosen.sum(), compared.sum()) >= NEEDED:
            yield name, chosen, compared


def _right(guessed: NDArray[np.int64], party: Party, chosen: NDArray[np.bool_]) -> SuccessCount:
    return SuccessCount(int((guessed == party.secret)[chosen].sum()), int(chosen.sum()))


def _among_guessed(guessed: NDArray[np.int64], party: Party, value: int) -> SuccessCount:
    said = guessed == value
    return SuccessCount(int((said & (party.secret == value)).sum()), int(said.sum()))


def _among_true(guessed: NDArray[np.int64], party: Party, value: int) -> SuccessCount:
    true = party.secret == value
    return SuccessCount(int((true & (guessed == value)).sum()), int(true.sum()))
