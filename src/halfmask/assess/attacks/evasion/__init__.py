"""Evasion: which changes of a row flip what a model predicts of it.

- :class:`KnownModel`: by an attacker who knows the model;
- :class:`LabelsOnly`: by one who only asks what it predicts.
"""

from __future__ import annotations

from halfmask.assess.attacks.evasion._changed_rows import KnownModel, LabelsOnly

__all__ = ["ATTACKS", "KnownModel", "LabelsOnly"]

#: The attacks by changed rows.
ATTACKS = (KnownModel, LabelsOnly)
