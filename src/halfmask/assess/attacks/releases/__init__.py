"""Several releases of the same people: what they disclose together, and none of them alone.

Attack a :class:`~halfmask.assess.attacks.TableTarget` with ``earlier`` releases:

- :class:`Intersection`: the values that a person's classes of all releases share;
- :func:`count_candidates`: the same, person by person.
"""

from __future__ import annotations

from halfmask.assess.attacks.releases._intersection import Intersection, count_candidates

__all__ = ["ATTACKS", "Intersection", "count_candidates"]

#: The attacks on several releases.
ATTACKS = (Intersection,)
