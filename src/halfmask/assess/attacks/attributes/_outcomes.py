"""Guesses of a secret column as outcomes: how often right, with precision and recall if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._outcome import EVERYONE, Outcome
from halfmask.assess.attacks.attributes._inference_setup import NEEDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._inference_setup import InferenceSetup, Subpopulation


def outcomes_of(
    name: str,
    target: ModelTarget,
    setup: InferenceSetup,
    guess: Callable[[Subpopulation], NDArray[np.int64]],
) -> Iterator[Outcome]:
    """Compare guesses about members with those about non-members, and with imputation.

    On subgroups the share that is right, where targets and controls are enough.
    """
    targets, controls = setup.targets, setup.controls
    theirs, others = guess(targets), guess(controls)
    without = setup.imputed.chances(targets.features).argmax(axis=1)
    for group, chosen, compared in _groups(target, targets, controls):
        yield Outcome(
            attack=name,
            measure=f"accuracy of {setup.secret.column!r}",
            column=str(setup.secret.column),
            success=_right(theirs, targets, chosen),
            control=_right(others, controls, compared),
            baseline=_right(without, targets, chosen),
            group=group,
            needed=NEEDED,
            needed_of="targets and controls",
            details={"values": float(len(setup.secret)), "known": float(len(setup.held_out))},
        )
    if setup.secret.positive < 0:
        return
    positive = setup.secret.positive
    for measure, of in (("precision", _among_guessed), ("recall", _among_true)):
        yield Outcome(
            attack=name,
            measure=f"{measure} of {setup.secret.column!r}",
            column=str(setup.secret.column),
            success=of(theirs, targets, positive),
            control=of(others, controls, positive),
            baseline=of(without, targets, positive),
            needed=NEEDED,
            needed_of="people of the positive value, guessed and true",
        )


def _groups(
    target: ModelTarget, targets: Subpopulation, controls: Subpopulation
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


def _right(
    guessed: NDArray[np.int64], people: Subpopulation, chosen: NDArray[np.bool_]
) -> SuccessCount:
    return SuccessCount(int((guessed == people.secret)[chosen].sum()), int(chosen.sum()))


def _among_guessed(guessed: NDArray[np.int64], people: Subpopulation, value: int) -> SuccessCount:
    positive = guessed == value
    return SuccessCount(int((positive & (people.secret == value)).sum()), int(positive.sum()))


def _among_true(guessed: NDArray[np.int64], people: Subpopulation, value: int) -> SuccessCount:
    true = people.secret == value
    return SuccessCount(int((true & (guessed == value)).sum()), int(true.sum()))
