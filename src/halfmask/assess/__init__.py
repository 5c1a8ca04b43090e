"""What an attacker still learns of a release, and what a learner keeps.

``risk`` counts how likely a row is to be found again; ``utility`` measures what is left to learn;
``masking`` compares a masked table with its original by both.
"""

from __future__ import annotations
