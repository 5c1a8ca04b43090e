"""Places on a map: true places that are guessed from released ones.

Attack a :class:`~halfmask.assess.attacks.PlacesTarget`:

- :class:`PlaceAveraging`: several released copies of a place, by their mean;
- :class:`AddressSnapping`: the address that a masked place is most likely of;
- :class:`AffineBreak`: all places, by a few known ones;
- :class:`HomeAndWork`: where trips of a person stay at night and by day;
- :class:`TripUnicity`: the people whom a few of their points single out.
"""

from __future__ import annotations

from halfmask.assess.attacks.places._guesses import AddressSnapping, AffineBreak, PlaceAveraging
from halfmask.assess.attacks.places._trips import HomeAndWork, TripUnicity

__all__ = [
    "ATTACKS",
    "AddressSnapping",
    "AffineBreak",
    "HomeAndWork",
    "PlaceAveraging",
    "TripUnicity",
]

#: The attacks on places.
ATTACKS = (PlaceAveraging, AddressSnapping, AffineBreak, HomeAndWork, TripUnicity)
