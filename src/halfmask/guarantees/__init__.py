"""Privacy models: values that judge the classes of a table from counts and histograms.

Start with :func:`measure`, which groups a table and judges it, or with :class:`Classes`, which
counts it once for many questions.

A table's quasi-identifiers divide its rows into *classes*, the rows that share all their values. A
guarantee is a value, such as ``KAnonymity(k=10)``, and ``guarantee.judge(classes)`` gives a
:class:`Judgement`: the level of every class, the level of the table (that of its worst class), and
the classes that miss. It looks at nothing but :class:`Classes`: the size of each class, and the
:class:`Histogram` of each sensitive column in it.

| guarantee | a class of n rows meets it when | level |
|---|---|---|
| ``KAnonymity`` | n >= k | n |
| ``DistinctLDiversity`` | m >= l | m |
| ``EntropyLDiversity`` | H >= log l | exp(H) |
| ``RecursiveCLDiversity`` | r1 < c (r_l + ... + r_m) | r1/(r_l+...+r_m) |
| ``TCloseness`` | EMD(P, Q) <= t | EMD(P, Q) |
| ``AlphaKAnonymity`` | n >= k and r1 / n <= alpha | r1 / n |
| ``DeltaDisclosurePrivacy`` | abs(log(P/Q)) < delta for each value | the largest |
| ``BasicBetaLikeness`` | (P - Q) / Q <= beta for each value | the largest |
| ``EnhancedBetaLikeness`` | (P - Q) / Q <= beta and <= -log(Q) for each value | the largest |
| ``LargestRisk`` | 1 / n <= risk | 1 / n |
| ``KMap`` | F >= k | F |
| ``ProfitabilityProsecutor`` | gain / n <= cost or loss / n < benefit | loss / n or 0 |
| ``ProfitabilityProsecutorNoAttack`` | gain / n < cost | gain / n |
| ``ProfitabilityJournalist`` | gain / F <= cost or loss / F < benefit | loss / F or 0 |
| ``ProfitabilityJournalistNoAttack`` | gain / F < cost | gain / F |
| ``EstimatedKMap`` | n is as large as k people make unlikely | n |
| ``DeltaPresence`` | delta_min <= n / F <= delta_max | n / F |
| ``LargestJournalistRisk`` | 1 / F <= risk | 1 / F |
| ``SubsetKAnonymity`` | n >= k over any m quasi-identifiers | the smallest n |
| ``LKCPrivacy`` | n >= k and r1 / n <= c over any l quasi-identifiers | the largest r1 / n |

Others judge the table as a whole, and their level is one number:

| guarantee | a table of C classes and N rows meets it when |
|---|---|
| ``AverageRisk`` | C / N <= risk |
| ``SampleUniques`` | (rows with n = 1) / N <= share |
| ``RecordsAtRisk`` | (rows with 1 / n > risk) / N <= share |
| ``JournalistRecordsAtRisk`` | (rows with 1 / F > risk) / N <= share |
| ``MarketerThreshold`` | sum(n / F) / N <= risk |
| ``AverageJournalistRisk`` | the larger of sum(n / F) / N and C / sum(F) <= risk |
| ``PopulationUniques`` | the share of unique people in the population is at most share, estimated |

``F`` is the number of people of a population who fit the class.
``m`` is the number of different sensitive values in the class, ``r1 >= ... >= r_m`` their counts,
``P`` their distribution and ``H`` its entropy; ``Q`` is the distribution in the whole table that is
judged; ``EMD`` the earth mover's distance.

All but the last are *monotone*: when classes that meet one are merged, the result meets it, which
is what lets a method cut classes until a guarantee would break. All comparisons of counts with a
parameter are exact, the parameter read as the decimal or quotient that was typed. Missing is a
value of its own, among quasi-identifiers and among sensitive values, and an empty text another.
An empty table is judged by none.
"""

from __future__ import annotations

from halfmask.guarantees._alpha_k_anonymity import AlphaKAnonymity
from halfmask.guarantees._beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from halfmask.guarantees._classes import Classes
from halfmask.guarantees._delta_disclosure_privacy import DeltaDisclosurePrivacy
from halfmask.guarantees._delta_presence import DeltaPresence
from halfmask.guarantees._distinct_l_diversity import DistinctLDiversity
from halfmask.guarantees._entropy_l_diversity import EntropyLDiversity
from halfmask.guarantees._grouping import class_of_row
from halfmask.guarantees._grouping import value_codes as value_codes
from halfmask.guarantees._guarantee import Criterion, Guarantee, Judgement
from halfmask.guarantees._guarantee import size_asked as size_asked
from halfmask.guarantees._histogram import ClassMembers, Histogram
from halfmask.guarantees._k_anonymity import KAnonymity
from halfmask.guarantees._k_map import CellSizeEstimator, EstimatedKMap, KMap
from halfmask.guarantees._lkc_privacy import LKCPrivacy
from halfmask.guarantees._measure import agreeing_codes as agreeing_codes
from halfmask.guarantees._measure import agreeing_rows, measure
from halfmask.guarantees._measure import class_codes as class_codes
from halfmask.guarantees._measure import codes_of as codes_of
from halfmask.guarantees._population_risks import (
    AverageJournalistRisk,
    JournalistRecordsAtRisk,
    LargestJournalistRisk,
    MarketerThreshold,
)
from halfmask.guarantees._population_uniques import PopulationUniques
from halfmask.guarantees._profitability import (
    ProfitabilityJournalist,
    ProfitabilityJournalistNoAttack,
    ProfitabilityProsecutor,
    ProfitabilityProsecutorNoAttack,
)
from halfmask.guarantees._prosecutor_risks import (
    AverageRisk,
    LargestRisk,
    RecordsAtRisk,
    SampleUniques,
)
from halfmask.guarantees._recursive_cl_diversity import RecursiveCLDiversity
from halfmask.guarantees._registry import GUARANTEES, guarantee_from, register_guarantee
from halfmask.guarantees._subset_guarantee import SubsetGuarantee
from halfmask.guarantees._subset_k_anonymity import SubsetKAnonymity
from halfmask.guarantees._t_closeness import TCloseness
from halfmask.guarantees._table_guarantee import TableGuarantee
from halfmask.guarantees._uniques_estimators import (
    UniquesEstimate,
    UniquesEstimator,
    estimate_uniques,
)

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "GUARANTEES",
    "AlphaKAnonymity",
    "AverageJournalistRisk",
    "AverageRisk",
    "BasicBetaLikeness",
    "CellSizeEstimator",
    "ClassMembers",
    "Classes",
    "Criterion",
    "DeltaDisclosurePrivacy",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "EstimatedKMap",
    "Guarantee",
    "Histogram",
    "JournalistRecordsAtRisk",
    "Judgement",
    "KAnonymity",
    "KMap",
    "LKCPrivacy",
    "LargestJournalistRisk",
    "LargestRisk",
    "MarketerThreshold",
    "PopulationUniques",
    "ProfitabilityJournalist",
    "ProfitabilityJournalistNoAttack",
    "ProfitabilityProsecutor",
    "ProfitabilityProsecutorNoAttack",
    "RecordsAtRisk",
    "RecursiveCLDiversity",
    "SampleUniques",
    "SubsetGuarantee",
    "SubsetKAnonymity",
    "TCloseness",
    "TableGuarantee",
    "UniquesEstimate",
    "UniquesEstimator",
    "agreeing_rows",
    "class_of_row",
    "estimate_uniques",
    "guarantee_from",
    "measure",
    "register_guarantee",
]
