"""Membership inference: whether a person's row was among those that trained a model.

Each attack is a value with its settings; all need people who are members and people who aren't, a
random split of one population. Any other difference between them counts as the attack's success.

- :class:`Gap`, :class:`Yeom`, :class:`BlackBox` only ask the attacked model;
- :class:`ShadowModels`, :class:`Lira`, :class:`Rmia` train shadow models, once for all three.

The attacker knows the membership of half of all people, and chooses the threshold on them; balanced
accuracy is measured on the others. Members are scored by their original rows, which an attacker may
have, and also by their rows after protection where the target has them. The latter separate changed
rows from raw ones, since non-members' rows aren't protected, even if the model leaks nothing. So
there the baseline is the same attack on a reference model that was trained on other people, if the
target has `train`; without it the success is too high, never too low.
"""

from __future__ import annotations

from halfmask.assess.attacks.membership._shadows import Lira, Rmia
from halfmask.assess.attacks.membership._threshold import BlackBox, Gap, ShadowModels, Yeom

__all__ = ["ATTACKS", "BlackBox", "Gap", "Lira", "Rmia", "ShadowModels", "Yeom"]

#: The attacks that infer membership in the training rows.
ATTACKS = (Gap, Yeom, BlackBox, ShadowModels, Lira, Rmia)
