"""Privacy models: values that judge the classes of a table from counts and histograms.

Start with :func:`measure`.
"""

from __future__ import annotations

from halfmask.guarantees._classes import Classes
from halfmask.guarantees._criterion import Criterion
from halfmask.guarantees._grouping import class_of_row, value_codes
from halfmask.guarantees._guarantee import Guarantee
from halfmask.guarantees._histogram import Histogram
from halfmask.guarantees._judgement import Judgement
from halfmask.guarantees._k_anonymity import KAnonymity

__all__ = [
    "Classes",
    "Criterion",
    "Guarantee",
    "Histogram",
    "Judgement",
    "KAnonymity",
    "class_of_row",
    "value_codes",
]
