"""Write what pycanon says of ten policies over three data sets, for our tests to be compared with.

pycanon runs in a venv of its own (it pins numpy 2.0)::

    python3.11 -m venv /tmp/venv-pycanon
    /tmp/venv-pycanon/bin/pip install pycanon==1.3.6
    /tmp/venv-pycanon/bin/python benchmarks/quality/pycanon_golden.py DATA OUT

DATA is the folder of the real data sets, OUT the JSON file (tests/guarantees/pycanon_golden.json).
The file says pycanon's version. Cells are read as text, missing markers included, but for the
columns of ``numeric``, for which pycanon takes the ordered distance and else the equal one.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from pycanon import anonymity

ADULT, NURSERY, HOSPITALS = "adult.csv", "nursery.csv", "diabetes_130_hospitals.csv.gz"

POLICIES: list[dict[str, Any]] = [
    {"data": ADULT, "qi": ["sex", "race"], "sensitive": "occupation"},
    {"data": ADULT, "qi": ["education"], "sensitive": "income"},
    {"data": ADULT, "qi": ["age", "education", "sex"], "sensitive": "hours-per-week"},
    {"data": ADULT, "qi": ["relationship"], "sensitive": "capital-gain"},
    {"data": NURSERY, "qi": ["parents", "has_nurs", "form"], "sensitive": "class"},
    {"data": NURSERY, "qi": ["finance", "social"], "sensitive": "class"},
    {"data": NURSERY, "qi": ["parents", "children", "housing", "health"], "sensitive": "social"},
    {"data": HOSPITALS, "qi": ["age", "change"], "sensitive": "readmitted"},
    {"data": HOSPITALS, "qi": ["race"], "sensitive": "insulin"},
    {"data": HOSPITALS, "qi": ["age", "max_glu_serum"], "sensitive": "time_in_hospital"},
]
NUMERIC = ["hours-per-week", "capital-gain", "time_in_hospital"]


def judged(frame: pd.DataFrame, qi: list[str], sensitive: str) -> dict[str, float | None]:
    """Ask pycanon for every level of one policy."""
    c, l = anonymity.recursive_c_l_diversity(frame, qi, [sensitive])
    return {
        "k": int(anonymity.k_anonymity(frame, qi)),
        "distinct_l": int(anonymity.l_diversity(frame, qi, [sensitive])),
        "entropy_l": int(anonymity.entropy_l_diversity(frame, qi, [sensitive])),
        "recursive_c": None if pd.isna(c) else int(c),
        "recursive_l": int(l),
        "t": float(anonymity.t_closeness(frame, qi, [sensitive])),
    }


def main() -> None:
    """Read each data set once, judge each policy, write the file."""
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    frames = {}
    for name in {policy["data"] for policy in POLICIES}:
        frame = pd.read_csv(data / name, dtype=str, keep_default_na=False)
        numeric = [column for column in NUMERIC if column in frame.columns]
        frames[name] = frame.astype(dict.fromkeys(numeric, int))
    golden = {
        "pycanon": importlib.metadata.version("pycanon"),
        "numeric": NUMERIC,
        "policies": [
            {**policy, **judged(frames[policy["data"]], policy["qi"], policy["sensitive"])}
            for policy in POLICIES
        ],
    }
    out.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
