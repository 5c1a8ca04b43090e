"""Write docs/reference/privacy-models.md from the registries of models, methods and recodings.

With ``--check`` nothing is written; the exit code is 1 if the page isn't in step. A new model needs
a line in `LINES`. Everything else comes from its class and its docstring, and from trials: each
method protects a small table, and the verifier counts the release again.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

import halfmask
from halfmask.anonymize import METHODS, RECODINGS
from halfmask.guarantees import GUARANTEES, guarantee_from
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.verifier.masked import MASK_CHECKS
from halfmask.verifier.tables import _model_checks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "privacy-models.md"
NONE = "—"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What no class says of itself.

    Parameters
    ----------
    example
        A section of a policy, without the model: the page shows it, and trials use it. Sensitive
        columns are ``disease`` and ``stage``.
    oracle
        What the tests compare the model with, and the file of the test in backticks.
    arx, sdcmicro
        What ARX 3.9 and sdcMicro 5.8 call it.
    """

    example: str
    oracle: str
    arx: str = NONE
    sdcmicro: str = NONE


MODELS_TEST = "`tests/guarantees/test_models.py`"
TABLE_TEST = "`tests/guarantees/test_table_guarantee.py`"
UNIQUES_TEST = "`tests/guarantees/test_uniques_estimators.py`"
GAME_TEST = "`tests/guarantees/test_profitability.py`"
SUBSET_TEST = "`tests/guarantees/test_subset_guarantee.py`"
AGREEMENT_TEST = "`tests/guarantees/test_agreement.py`"
PEOPLE_MODELS = "`tests/guarantees/test_population_models.py`"
PEOPLE_TEST = "`tests/microdata/test_population.py`"
BOUND_TEST = "`tests/dp/safepub/test_sampling_bound.py`"
PRIVATE_TEST = "`tests/microdata/test_differential_privacy.py`"
#: One line for each model, by its name. Keep one entry a model, in the order of the alphabet.
LINES: Mapping[str, Line] = {
    "alpha-k-anonymity": Line(
        example='alpha = 0.5, k = 5, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST})",
    ),
    "average-journalist-risk": Line(
        example="risk = 0.1",
        oracle=f"counts in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
    ),
    "average-risk": Line(
        example="risk = 0.1",
        oracle=f"counts in fractions ({TABLE_TEST}); ARX ({AGREEMENT_TEST})",
        arx="the average risk of `AverageReidentificationRisk(average, highest, records)`",
    ),
    "basic-beta-likeness": Line(
        example='beta = 2.0, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST})",
        arx="`BasicBLikeness`",
    ),
    "delta-disclosure-privacy": Line(
        example='delta = 1.5, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST})",
        arx="`DDisclosurePrivacy`, with logarithms to base 2",
    ),
    "delta-presence": Line(
        example="delta_min = 0.0, delta_max = 0.5",
        oracle=f"counts in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
        arx="`DPresence`",
    ),
    "distinct-l-diversity": Line(
        example='l = 2, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST}); pycanon ({AGREEMENT_TEST})",
        arx="`DistinctLDiversity`",
        sdcmicro='`ldiversity`, `"Distinct_Ldiversity"`: measured',
    ),
    "enhanced-beta-likeness": Line(
        example='beta = 2.0, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST})",
        arx="`EnhancedBLikeness`",
    ),
    "entropy-l-diversity": Line(
        example='l = 1.8, column = "disease"',
        oracle=f"powers of integers ({MODELS_TEST}); pycanon ({AGREEMENT_TEST})",
        arx="`EntropyLDiversity`",
        sdcmicro='`ldiversity`, `"Entropy_Ldiversity"`: measured',
    ),
    "estimated-k-map": Line(
        example='k = 20, sampling_fraction = 0.2, significance = 0.05, estimator = "poisson"',
        oracle=f"ARX's loops ({PEOPLE_MODELS})",
        arx="`KMap` with an estimator",
    ),
    "journalist-records-at-risk": Line(
        example="share = 0.1, risk = 0.1",
        oracle=f"counts in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
    ),
    "k-anonymity": Line(
        example="k = 5",
        oracle=f"counts in dictionaries ({MODELS_TEST}); pycanon ({AGREEMENT_TEST})",
        arx="`KAnonymity`",
        sdcmicro="`kAnon`, `localSuppression(k = )`; `freqCalc` measures",
    ),
    "k-map": Line(
        example="k = 20",
        oracle=f"every person against every label ({PEOPLE_TEST})",
        arx="`KMap` with a subset",
    ),
    "largest-journalist-risk": Line(
        example="risk = 0.1",
        oracle=f"counts in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
    ),
    "largest-risk": Line(
        example="risk = 0.2",
        oracle=f"counts in fractions ({MODELS_TEST}); ARX ({AGREEMENT_TEST})",
        arx="the highest risk of `AverageReidentificationRisk(average, highest, records)`",
    ),
    "lkc-privacy": Line(
        example='l = 1, k = 5, c = 0.7, column = "disease"',
        oracle=f"every combination counted in dictionaries ({SUBSET_TEST})",
    ),
    "marketer-risk": Line(
        example="risk = 0.1",
        oracle=f"counts in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
    ),
    "population-uniqueness": Line(
        example="share = 0.05, sampling_fraction = 0.2",
        oracle=f"binomial coefficients, likelihoods as products, and ARX ({UNIQUES_TEST})",
        arx="`PopulationUniqueness`",
    ),
    "profitability-journalist": Line(
        example="publisher_benefit = 1.0, publisher_loss = 3.0, adversary_gain = 3.0, "
        "adversary_cost = 0.1",
        oracle=f"the game in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
        arx="`ProfitabilityJournalist`, which reduces the benefit by lost information",
    ),
    "profitability-journalist-no-attack": Line(
        example="adversary_gain = 3.0, adversary_cost = 0.5",
        oracle=f"the game in fractions ({PEOPLE_MODELS}); every person ({PEOPLE_TEST})",
        arx="`ProfitabilityJournalistNoAttack`",
    ),
    "profitability-prosecutor": Line(
        example="publisher_benefit = 1, publisher_loss = 4, adversary_gain = 9, adversary_cost = 1",
        oracle=f"the game in fractions ({GAME_TEST})",
        arx="`ProfitabilityProsecutor`, which takes lost information off the benefit",
    ),
    "profitability-prosecutor-no-attack": Line(
        example="adversary_gain = 9, adversary_cost = 2",
        oracle=f"the game in fractions ({GAME_TEST})",
        arx="`ProfitabilityProsecutorNoAttack`",
    ),
    "records-at-risk": Line(
        example="share = 0.05, risk = 0.2",
        oracle=f"counts in fractions ({TABLE_TEST})",
        arx="the records of `AverageReidentificationRisk(average, highest, records)`",
    ),
    "recursive-cl-diversity": Line(
        example='c = 3.0, l = 2, column = "disease"',
        oracle=f"counts in fractions ({MODELS_TEST})",
        arx="`RecursiveCLDiversity`",
        sdcmicro='`ldiversity`, `"Recursive_Ldiversity"`: measured',
    ),
    "sample-uniqueness": Line(
        example="share = 0.05",
        oracle=f"counts in fractions ({TABLE_TEST}); ARX ({AGREEMENT_TEST})",
        arx="`SampleUniqueness`",
    ),
    "subset-k-anonymity": Line(
        example="k = 5, m = 1",
        oracle=f"every combination counted in dictionaries ({SUBSET_TEST})",
        sdcmicro="`localSuppression(k = , combs = )`, which suppresses cells",
    ),
    "t-closeness": Line(
        example='t = 0.4, column = "stage", distance = "ordered"',
        oracle=f"counts in fractions ({MODELS_TEST}); pycanon ({AGREEMENT_TEST})",
        arx="`EqualDistanceTCloseness`, `OrderedDistanceTCloseness`, "
        "`HierarchicalDistanceTCloseness`",
    ),
}

#: Models that masks keep, by the model's name: the mask, and the names elsewhere.
MASK_MODELS: Mapping[str, tuple[str, str, str, str, str]] = {
    "groups-of-k": (
        "microaggregation",
        "Domingo-Ferrer and Mateo-Sanz 2002 (MDAV); Hansen and Mukherjee 2003; Gower 1971",
        "MDAV step by step over all distances; all ways to cut sorted values",
        NONE,
        "`microaggregation` of all columns together",
    ),
    "k-anonymity-with-suppression": (
        "local-suppression",
        "Templ, Kowarik and Meindl 2015",
        "Brute-force minimum of small tables; figures of sdcMicro; naive counts",
        NONE,
        "`localSuppression`",
    ),
    "km-anonymity": (
        "km-anonymity",
        "Terrovitis, Mamoulis and Kalnis 2008",
        "All sets of items counted in dictionaries; the least loss of small tables",
        "none; Amnesia: k^m-anonymity of set-valued data",
        NONE,
    ),
    "geo-indistinguishability": (
        "planar-laplace",
        "Andrés and others 2013",
        "Kolmogorov-Smirnov test of the Gamma law; odds between two places",
        NONE,
        NONE,
    ),
}

#: A policy around a model: hierarchies for methods and recodings that need them.
POLICY = """\
halfmask = 1
guarantees = [{{ model = "{model}", {example} }}]
method = {{ name = "{method}"{targets} }}
suppression = {{ max_fraction = 0.1 }}
[columns]
age = {{ role = "quasi_identifier", kind = "numeric", hierarchy = {{ intervals = [5, 20] }} }}
town = {{ role = "quasi_identifier", kind = "categorical", hierarchy = {{ prefix = [1] }} }}
disease = {{ role = "sensitive", kind = "categorical" }}
stage = {{ role = "sensitive", kind = "numeric" }}
income = {{ role = "insensitive", kind = "categorical" }}
"""

HEAD = """\
# Privacy models and methods

<!-- Written by tools/models_page.py from the registries. Change a model, then run it. -->

Look up a privacy model, a method or a recoding here. [Choose k, l and t](../how-to/choose-k-l-t.md)
helps to choose, [the policy](policy.md) has each key, and the
[API reference](python/guarantees.md) has each class. You can
[add a model](../how-to/add-a-privacy-model.md).

The verifier counts every model again with code of its own. A release of a model without a check
isn't written.
"""
JUDGED = """\
- *Judged on*: a class alone; each class against the whole table; or against a population.
- *By*: with a *rule*, the compiled engine tests the model at each cut; of *rows* alone, it counts
  them. Otherwise classes that miss the model are *joined* with their neighbours. A model that isn't
  monotone (merged classes may lose it) is judged on each whole *release* that the search looks at.
- *Kept by*: the methods that made a small release with the example, which the verifier confirmed.
- *Tested against*: what the tests compare the model with.
"""
ROWS = """\
Such a guarantee is about how rows are drawn, and judges no classes. It goes with no other
guarantee, and with no mask, method, recoding or suppression.
[How to use it](../how-to/release-private-rows.md).
"""
MASKED = """\
A [mask](masks.md) with such a claim needs no classes. The claim is made in a release of masks
alone.
"""


def page() -> str:
    """Return the whole page."""
    parts = [
        HEAD,
        "## Privacy models\n",
        JUDGED,
        *table(
            ("model", "what it says", "source", "judged on, by", "kept by"),
            ((*model_row(name), kept_by(name)) for name in sorted(GUARANTEES)),
        ),
        "\n## Parameters and checks\n",
        *table(
            ("model", "parameters", "level", "check of the verifier", "tested against"),
            map(parameter_row, sorted(GUARANTEES)),
        ),
        "\n## Names in ARX and sdcMicro\n",
        *table(
            ("model", "class", "ARX", "sdcMicro"),
            (
                (f"`{name}`", f"`{GUARANTEES[name].__name__}`", line.arx, line.sdcmicro)
                for name, line in ((name, LINES[name]) for name in sorted(GUARANTEES))
            ),
        ),
        "\n## Guarantees without classes\n",
        ROWS,
        *table(("model", f"`{DifferentialPrivacy.model}`"), private_rows()),
        "\n## Models that masks keep\n",
        MASKED,
        *table(
            ("model and mask", "source", "check of the verifier", "tested against",
             "ARX or sdcMicro"),
            map(mask_model_row, sorted(MASK_MODELS)),
        ),
        "\n## Methods\n",
        "A method finds the classes. *Kept by* above says which models it keeps.\n",
        *table(("method", "what it does", "needs a label", "parameters"), map(method_row, METHODS)),
        "\n## Recodings\n",
        "A recoding writes a class. The weaknesses are those that the release names.\n",
        *table(("recoding", "what it does", "weaknesses"), map(recoding_row, RECODINGS)),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table; a pipe in a cell would part it."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', 'or') for cell in row)} |"


def model_row(name: str) -> tuple[str, ...]:
    """Return what the class of a model says, for the first table."""
    kind = GUARANTEES[name]
    judged = "a population" if kind.needs_population else "the whole table"
    alone = not (kind.relative or kind.needs_population)
    return (
        f'`{name}`<br>`{{ model = "{name}", {LINES[name].example} }}`',
        summary(kind),
        source(kind),
        f"{'a class' if alone else judged}, {searched(name)}",
    )


def searched(name: str) -> str:
    """Return how the growing methods look after a model."""
    if not GUARANTEES[name].monotone:
        return "release"
    made = guarantee_from(name, tomllib.loads(f"it = {{ {LINES[name].example} }}")["it"])
    if made.criterion() is not None:
        return "rule"
    return "rows" if made.class_size > 1 else "joined"


def summary(kind: type) -> str:
    """Return the first line of a docstring."""
    return (kind.__doc__ or "").partition("\n")[0].replace("``", "`")


def source(kind: type) -> str:
    """Return what follows "Source:" in a docstring, to the end of its paragraph."""
    found = re.search(r"Source: (.+?)(?:\n\s*\n|\Z)", kind.__doc__ or "", re.DOTALL)
    return " ".join(found[1].split()) if found else NONE


def parameter_row(name: str) -> tuple[str, ...]:
    """Return the parameters of a model with their bounds."""
    kind = GUARANTEES[name]
    side = "at most" if kind.worse_when_larger else "at least"
    level = f"{side} `{kind.bounded}`"
    return f"`{name}`", parameters(kind), level, check_of(name), LINES[name].oracle


def private_rows() -> Iterator[tuple[str, str]]:
    """Return what differential privacy says of itself."""
    kind = DifferentialPrivacy
    oracle = f"both neighbours in fractions ({BOUND_TEST}); releases of neighbours ({PRIVATE_TEST})"
    check = "`verifier/safepub/_safepub_release.py`: epsilon is accounted, k is counted"
    yield "parameters", parameters(kind)
    yield "what it says", summary(kind)
    yield "source", source(kind)
    yield "checks of the verifier", check
    yield "tested against", oracle
    yield "ARX", "`EDDifferentialPrivacy`"


def parameters(kind: type) -> str:
    """Return the parameters of a model with their bounds."""
    given = [entry for entry in fields(kind) if entry.init and entry.name != "hierarchy"]
    words = []
    for entry in given:
        signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
        bounds = [f"{sign} {entry.metadata[key]}" for key, sign in signs.items()
                  if key in entry.metadata]  # fmt: skip
        bounds += [] if entry.default is MISSING else [f"default `{entry.default}`"]
        words.append(f"`{entry.name}`" + (f" ({', '.join(bounds)})" if bounds else ""))
    return ", ".join(words)


def check_of(name: str) -> str:
    """Return the function that makes the verifier's check of a model, and its file."""
    make = _model_checks._checks[name].make  # noqa: SLF001 # nobody else lists them
    file = make.__module__.rpartition(".")[2]
    return f"`{make.__name__}` in `verifier/tables/{file}.py`"


def mask_model_row(name: str) -> tuple[str, ...]:
    """Return what a mask claims, with its source and its check."""
    mask, source, oracle, arx, sdcmicro = MASK_MODELS[name]
    check = MASK_CHECKS[name]
    file = check.__module__.rpartition(".")[2]
    shown = f"`{check.__name__}` in `verifier/masked/{file}.py`"
    elsewhere = "; ".join(it for it in (arx, sdcmicro) if it != NONE) or NONE
    return f"`{name}`<br>`{mask}`", source, shown, oracle, elsewhere


def method_row(name: str) -> tuple[str, ...]:
    """Return what a method does, with its parameters."""
    kind: Any = METHODS[name]
    keys = [f"`{entry.name}`" for entry in fields(kind) if entry.init]
    # A method that needs one only for some objectives has a property in the class's place.
    needs = {True: "yes", False: "no"}.get(kind.needs_guide, "if the objective does")
    return f"`{name}`", summary(kind), needs, ", ".join(keys) or NONE


def recoding_row(name: str) -> tuple[str, ...]:
    """Return what a recoding writes."""
    kind = RECODINGS[name]
    weak = ", ".join(f"`{word}`" for word in kind().weaknesses) or NONE
    return f"`{name}`", summary(kind), weak


def policy_of(name: str, method: str) -> halfmask.Policy:
    """Return the policy of a trial."""
    kind: Any = METHODS[method]
    targets = ', split_targets = ["income"]' if kind.needs_guide is True else ""
    text = POLICY.format(model=name, example=LINES[name].example, method=method, targets=targets)
    return halfmask.Policy.from_toml(text)


def people() -> pl.DataFrame:
    """Return the table of the trials: 240 rows, in which sensitive values are well mixed."""
    rows = range(240)
    return pl.DataFrame(
        {
            "age": [20 + row * 7 % 48 for row in rows],
            "town": ["AaAbAcAdBaBbBcBd"[row * 5 % 8 * 2 :][:2] for row in rows],
            "disease": [("flu", "cold", "asthma", "ulcer")[row // 3 % 4] for row in rows],
            "stage": [row // 5 % 4 for row in rows],
            "income": ["high" if row % 3 else "low" for row in rows],
        }
    )


def is_kept(name: str, method: str) -> bool:
    """Return whether a method makes a release by a model that the verifier confirms."""
    table = people()
    everybody = pl.concat([table] * 5) if GUARANTEES[name].needs_population else None
    with tempfile.TemporaryDirectory() as folder:
        try:
            policy = policy_of(name, method)
            halfmask.protect(table, policy, population=everybody).write(Path(folder) / "out")
        except halfmask.HalfmaskError:
            return False
    return True


def kept_by(name: str) -> str:
    """Return the methods that keep a model."""
    kept = [method for method in METHODS if is_kept(name, method)]
    if len(kept) == len(METHODS):
        return "all methods"
    return ", ".join(f"`{it}`" for it in kept) or NONE


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
