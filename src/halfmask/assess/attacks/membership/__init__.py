"""Membership inference: whether a person's row was among those that trained a model.

Each attack is a value with its settings; all need people who are members and people who aren't, a
random split of one population. Any other difference between them counts as the attack's success.

- :class:`Gap`, :class:`Yeom`, :class:`BlackBox` only ask the attacked model;
- :class:`ShadowModels`, :class:`Lira`, :class:`Rmia` train shadow models, once for all three.

Half of all people are known to the attacker, who chooses his threshold on them; balanced accuracy
is measured on the others. Members are scored by their original rows, which is what an intruder
holds of somebody, and also by their rows after protection where the target has them. The latter
tells rows that were changed from rows that weren't, since non-members' aren't protected, even where
the model gives nothing away. So there the same attack on a model that was trained on others is the
baseline, if the target has a way to train one; without it the success is too high, never too low.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.assess.attacks.membership._black_box import BlackBox
from halfmask.assess.attacks.membership._gap import Gap
from halfmask.assess.attacks.membership._lira import Lira
from halfmask.assess.attacks.membership._rmia import Rmia
from halfmask.assess.attacks.membership._shadow_models import ShadowModels
from halfmask.assess.attacks.membership._yeom import Yeom

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS", "BlackBox", "Gap", "Lira", "Rmia", "ShadowModels", "Yeom"]

#: The attacks that infer membership in the training rows.
ATTACKS: tuple[type[Attack], ...] = (Gap, Yeom, BlackBox, ShadowModels, Lira, Rmia)
