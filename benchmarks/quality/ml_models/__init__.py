"""The parts of `anonymizing_ml_models.py`, one concept a file.

Goldsteen, Ezov, Shmelkin, Moffie, Farkash: "Anonymizing machine learning models" (2020), called
"the paper" throughout.
"""

from __future__ import annotations
