"""What no file of a release under differential privacy shows, in words that its manifest states."""

from __future__ import annotations

from typing import Final

NOISE_UNSEEN: Final = "noise-unseen: no file can show that the noise was drawn as stated."
OTHER_RELEASES: Final = (
    "other-releases: other answers and models from the same rows cost more; the ledger adds them."
)
ROWS_NOT_PERSONS: Final = (
    "rows-not-persons: the guarantee is for one row; a person with several rows has a weaker one."
)
