"""Attacks: what an attacker learns from a model or a release, compared with a baseline.

Start with :func:`attack`: it runs a battery on what is protected and on what isn't, and returns one
:class:`AttackReport`. Each :class:`Finding` has three arms (attack, control, baseline) with bounds,
and a verdict that is INVALID, never a pass, without a positive control or with too few trials.

- :class:`ModelTarget`, :class:`TableTarget`, :class:`EncodingTarget`, :class:`HashingTarget`,
  :class:`TrainerTarget`, :class:`EventsTarget`, :class:`CrosstabTarget`, :class:`PlacesTarget`:
  what is attacked;
- :class:`Shuffled`, :func:`attack_shuffled`: a release whose rows are in an unknown order;
- :func:`explain_verdicts`: what the verdicts of findings mean;
- :class:`Attack`: what an attack is; ``ATTACKS`` lists those that there are.
"""

from __future__ import annotations

from halfmask.assess.attacks._arms import Arm, Certain, Combined, Resampled, SuccessCount
from halfmask.assess.attacks._attack import EVERYONE, Attack, Outcome
from halfmask.assess.attacks._battery import ATTACKS, attack
from halfmask.assess.attacks._crosstab_target import CrosstabTarget
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._events_target import EventsTarget
from halfmask.assess.attacks._finding import Finding, explain_verdicts
from halfmask.assess.attacks._hashing_target import HashingTarget
from halfmask.assess.attacks._places_target import PlacesTarget
from halfmask.assess.attacks._report import AttackReport
from halfmask.assess.attacks._shuffled import Shuffled, attack_shuffled
from halfmask.assess.attacks._targets import ModelTarget, TableTarget
from halfmask.assess.attacks._trainer_target import TrainerTarget

__all__ = [
    "ATTACKS",
    "EVERYONE",
    "Arm",
    "Attack",
    "AttackReport",
    "Certain",
    "Combined",
    "CrosstabTarget",
    "EncodingTarget",
    "EventsTarget",
    "Finding",
    "HashingTarget",
    "ModelTarget",
    "Outcome",
    "PlacesTarget",
    "Resampled",
    "Shuffled",
    "SuccessCount",
    "TableTarget",
    "TrainerTarget",
    "attack",
    "attack_shuffled",
    "explain_verdicts",
]
