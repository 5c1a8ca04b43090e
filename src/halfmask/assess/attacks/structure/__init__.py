"""Structure of tree models: what can be read from a model without an attack on a person.

- :class:`TreeStructure`: small leaves, leaves of one label, rare outputs, degrees of freedom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.assess.attacks.structure._tree_structure import TreeStructure

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Attack

__all__ = ["ATTACKS", "TreeStructure"]

#: The attacks that read a model's structure.
ATTACKS: tuple[type[Attack], ...] = (TreeStructure,)
