"""What each guarantee of a policy costs: what a release would keep without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halfmask._errors import HalfmaskError
from halfmask.assess.risk import listed, percent
from halfmask.assess.utility import information_loss
from halfmask.engines import map_in_order
from halfmask.microdata._class_measures import leaving_extents
from halfmask.microdata._detail_kept import weighed_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.anonymize import Protection
    from halfmask.guarantees import Guarantee
    from halfmask.microdata._policy import Policy
    from halfmask.microdata.exploring._explored_table import ExploredTable

#: Columns that a sentence names, and the detail that one must gain to be named.
NAMED, GAINED = 3, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeTrial:
    """What a release keeps without some guarantees of its policy.

    Parameters
    ----------
    without
        The guarantees that are left out, in words; empty for all of the policy.
    classes, suppressed
        How many classes the release has, and how many rows are left out.
    kept
        The share of the detail that is kept, columns by their weights, in [0, 1].
    loss
        The information loss, in [0, 1].
    detail
        The share of the detail that each quasi-identifier keeps, in [0, 1].
    why
        Why there can't be a release; the numbers are ``None`` then.
    """

    without: tuple[str, ...]
    classes: int | None
    suppressed: int | None
    kept: float | None
    loss: float | None
    detail: Mapping[str, float]
    why: str = ""

    @property
    def sentence(self) -> str:
        """What is left out, and what a release keeps then."""
        what = f"Without {' and '.join(self.without)}" if self.without else "With all guarantees"
        if self.classes is None or self.kept is None:
            return f"{what}: {self.why}"
        return f"{what}: {self.classes:,} classes, {percent(self.kept)} of the detail."

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "without": list(self.without), "detail": dict(self.detail)}


def trial_sentences(trials: Sequence[GuaranteeTrial]) -> list[str]:
    """Return what is kept without each guarantee, and which columns gain most.

    Parameters
    ----------
    trials
        As of `guarantee_trials`: the whole policy comes first.
    """
    whole = trials[0].detail if trials else {}
    sentences = []
    for trial in trials:
        gains = {name: kept - whole[name] for name, kept in trial.detail.items() if name in whole}
        most = sorted(gains, key=lambda name: -gains[name])[:NAMED]
        named = [
            f"{name} {percent(trial.detail[name])} instead of {percent(whole[name])}"
            for name in most
            if gains[name] >= GAINED
        ]
        more = f" Most is gained by {listed(named)}." if named else ""
        sentences.append(trial.sentence + more)
    return sentences


def guarantee_trials(table: ExploredTable, policy: Policy) -> tuple[GuaranteeTrial, ...]:
    """Try a policy whole, without each of its guarantees, and without all about columns."""
    try:
        protection = table.protection(policy)
    except HalfmaskError as error:
        return (_refused((), error.what),)
    every = protection.guarantees
    left_out = [(), *((each,) for each in every)]
    about = tuple(each for each in every if each.column is not None)
    if len(about) > 1:
        left_out.append(about)
    return tuple(map_in_order(left_out, lambda each: _tried(table, protection, each)))


def _tried(
    table: ExploredTable, protection: Protection, left_out: Sequence[Guarantee]
) -> GuaranteeTrial:
    kept = tuple(each for each in protection.guarantees if each not in left_out)
    words = tuple(_worded(left_out))
    names = protection.schema.quasi_identifiers
    if not kept:
        whole = dict.fromkeys(names, 1.0)
        n = table.raw.n_classes
        return GuaranteeTrial(
            without=words, classes=n, suppressed=0, kept=1.0, loss=0.0, detail=whole
        )
    try:
        wanted = replace(protection, guarantees=kept)
        plan, _, counts = wanted.plan_counted(wanted.fit(table.summary))
    except HalfmaskError as error:
        return _refused(words, error.what)
    suppressed = table.rows.height - counts.classes.rows
    loss = information_loss(leaving_extents(plan, counts), suppressed=suppressed)
    return GuaranteeTrial(
        without=words,
        classes=counts.classes.n_classes,
        suppressed=suppressed,
        kept=1 - weighed_loss(loss, protection),
        loss=loss.loss,
        detail={name: 1 - each.loss for name, each in loss.columns.items()},
    )


def _refused(words: tuple[str, ...], why: str) -> GuaranteeTrial:
    return GuaranteeTrial(
        without=words, classes=None, suppressed=None, kept=None, loss=None, detail={}, why=why
    )


def _worded(guarantees: Sequence[Guarantee]) -> Iterator[str]:
    for each in guarantees:
        numbers = ", ".join(f"{name} = {value}" for name, value in each.parameters.items())
        about = f" of {each.column}" if each.column else ""
        yield f"{each.model}{about} ({numbers})"
