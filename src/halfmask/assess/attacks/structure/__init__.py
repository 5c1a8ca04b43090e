"""Structure of tree models: what can be read from a model without an attack on a person.

- :class:`TreeStructure`: small leaves, leaves of one label, rare outputs, degrees of freedom.
"""

from __future__ import annotations

from halfmask.assess.attacks.structure._tree_structure import TreeStructure

__all__ = ["ATTACKS", "TreeStructure"]

#: The attacks that read a model's structure.
ATTACKS = (TreeStructure,)
