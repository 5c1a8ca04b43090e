"""Risk: re-identification by an attacker who knows quasi-identifiers, over all rows.

Start with :func:`table_risk` (a table, and the population it was drawn from where there is one) or
:func:`classes_risk` (class sizes alone). Each risk is a value that explains itself in a
``sentence`` and turns into JSON with ``to_dict``:

- :class:`SampleUniqueness`: rows that no other row looks like;
- :class:`ProsecutorRisk`: someone knows that a person is in the table;
- :class:`JournalistRisk`: someone looks rows up in the population;
- :class:`MarketerRisk`: someone links every row;
- :class:`ClassSizes`: the distribution that all these come from;
- :class:`ReleasedColumnsRisk`: someone knows columns that are released unchanged.

:func:`counted_risk` counts most of these for a table of any size, also on a cluster.

More than counts, for those who choose what to protect; :func:`assess_risk` measures all:

- :func:`suda`: rows that few quasi-identifiers single out (SUDA2), and what each column adds;
- :func:`individual_risk`: the risk of each row and household, estimated from sampling weights;
- :func:`log_linear_risk`: unique rows that are expected to be linked, by a model of the population;
- :func:`population_uniqueness`: people who are unique in the population, by superpopulation models;
- :func:`separation`: how near each set of quasi-identifiers comes to a key (distinction and
  separation).

:func:`interval_disclosure` counts the numbers that lie near what was released in their place.

Missing cells are read in both ways, as a value of their own and as a wildcard that may be any
value; a gate uses the worse (:attr:`TableRisk.worse`). The first list is counted. What is estimated
says so, and by which model.
"""

from __future__ import annotations

from halfmask.assess._risk import Risk, listed, percent
from halfmask.assess.risk._assessment import RiskAssessment, assess_risk
from halfmask.assess.risk._class_risks import (
    THRESHOLDS,
    ClassSizes,
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    SampleUniqueness,
    ShareAbove,
    SizeBin,
    class_sizes,
    journalist_risk,
    marketer_risk,
    prosecutor_risk,
    sample_uniqueness,
)
from halfmask.assess.risk._column_sets import (
    ColumnSetCounter,
    ColumnSetRisk,
    ReleasedColumnsRisk,
    singling_out_sentence,
    worst_sets,
)
from halfmask.assess.risk._counted_risk import CountedRisk, counted_risk
from halfmask.assess.risk._individual import (
    IndividualReading,
    IndividualRisk,
    RiskBasis,
    individual_risk,
)
from halfmask.assess.risk._interval_disclosure import IntervalScale, interval_disclosure
from halfmask.assess.risk._log_linear import LogLinearMethod, LogLinearRisk, log_linear_risk
from halfmask.assess.risk._matching import Alike, equal_rows, matching_rows
from halfmask.assess.risk._population_uniqueness import PopulationUniqueness, population_uniqueness
from halfmask.assess.risk._reidentification import (
    LinkedRows,
    Reidentification,
    TableRisk,
    classes_risk,
    linked_rows,
    table_risk,
)
from halfmask.assess.risk._separation import SeparationRisk, SetSeparation, separation
from halfmask.assess.risk._suda import (
    ColumnShare,
    SpecialUniques,
    SudaFormula,
    SudaRisk,
    ValueShare,
    suda,
)

__all__ = [
    "THRESHOLDS",
    "Alike",
    "ClassSizes",
    "ColumnSetCounter",
    "ColumnSetRisk",
    "ColumnShare",
    "CountedRisk",
    "IndividualReading",
    "IndividualRisk",
    "IntervalScale",
    "JournalistRisk",
    "LinkedRows",
    "LogLinearMethod",
    "LogLinearRisk",
    "MarketerRisk",
    "PopulationUniqueness",
    "ProsecutorRisk",
    "Reidentification",
    "ReleasedColumnsRisk",
    "Risk",
    "RiskAssessment",
    "RiskBasis",
    "SampleUniqueness",
    "SeparationRisk",
    "SetSeparation",
    "ShareAbove",
    "SizeBin",
    "SpecialUniques",
    "SudaFormula",
    "SudaRisk",
    "TableRisk",
    "ValueShare",
    "assess_risk",
    "class_sizes",
    "classes_risk",
    "counted_risk",
    "equal_rows",
    "individual_risk",
    "interval_disclosure",
    "journalist_risk",
    "linked_rows",
    "listed",
    "log_linear_risk",
    "marketer_risk",
    "matching_rows",
    "percent",
    "population_uniqueness",
    "prosecutor_risk",
    "sample_uniqueness",
    "separation",
    "singling_out_sentence",
    "suda",
    "table_risk",
    "worst_sets",
]
