"""Risk: re-identification by an attacker who knows quasi-identifiers, over all rows.

Start with :func:`table_risk` (a table, and the population it was drawn from where there is one) or
`classes_risk` (class sizes alone). Each risk is a value that explains itself in a
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

:func:`interval_disclosure` counts the numbers that lie near what was released in their place;
:func:`place_risk` counts the people who live as near to a moved point as the person does.

Missing cells are read in both ways, as a value of their own and as a wildcard that may be any
value; a gate uses the worse (:attr:`TableRisk.worse`). The first list is counted. What is estimated
says so, and by which model.
"""

from __future__ import annotations

from halfmask.assess._risk import Risk
from halfmask.assess._risk import listed as listed
from halfmask.assess._risk import percent as percent
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
)
from halfmask.assess.risk._class_risks import class_sizes as class_sizes
from halfmask.assess.risk._class_risks import journalist_risk as journalist_risk
from halfmask.assess.risk._class_risks import marketer_risk as marketer_risk
from halfmask.assess.risk._class_risks import prosecutor_risk as prosecutor_risk
from halfmask.assess.risk._class_risks import sample_uniqueness as sample_uniqueness
from halfmask.assess.risk._column_sets import ColumnSetCounter as ColumnSetCounter
from halfmask.assess.risk._column_sets import ColumnSetRisk, ReleasedColumnsRisk
from halfmask.assess.risk._column_sets import singling_out_sentence as singling_out_sentence
from halfmask.assess.risk._column_sets import worst_sets as worst_sets
from halfmask.assess.risk._counted_risk import CountedRisk, counted_risk
from halfmask.assess.risk._individual import (
    IndividualReading,
    IndividualRisk,
    RiskBasis,
    individual_risk,
)
from halfmask.assess.risk._interval_disclosure import IntervalScale, interval_disclosure
from halfmask.assess.risk._log_linear import LogLinearMethod, LogLinearRisk, log_linear_risk
from halfmask.assess.risk._matching import Alike as Alike
from halfmask.assess.risk._matching import equal_rows as equal_rows
from halfmask.assess.risk._matching import matching_rows as matching_rows
from halfmask.assess.risk._place_risk import PlaceRisk, place_risk
from halfmask.assess.risk._population_uniqueness import PopulationUniqueness, population_uniqueness
from halfmask.assess.risk._reidentification import LinkedRows as LinkedRows
from halfmask.assess.risk._reidentification import Reidentification, TableRisk, table_risk
from halfmask.assess.risk._reidentification import classes_risk as classes_risk
from halfmask.assess.risk._reidentification import linked_rows as linked_rows
from halfmask.assess.risk._separation import SeparationRisk, SetSeparation, separation
from halfmask.assess.risk._suda import (
    ColumnShare,
    SpecialUniques,
    SudaFormula,
    SudaRisk,
    ValueShare,
    suda,
)

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "THRESHOLDS",
    "ClassSizes",
    "ColumnSetRisk",
    "ColumnShare",
    "CountedRisk",
    "IndividualReading",
    "IndividualRisk",
    "IntervalScale",
    "JournalistRisk",
    "LogLinearMethod",
    "LogLinearRisk",
    "MarketerRisk",
    "PlaceRisk",
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
    "counted_risk",
    "individual_risk",
    "interval_disclosure",
    "log_linear_risk",
    "place_risk",
    "population_uniqueness",
    "separation",
    "suda",
    "table_risk",
]
