"""A small table of people, policies of each kind, and candidates that a test makes itself."""

from __future__ import annotations

import re
import secrets

import polars as pl

from halfmask._progress import silent
from halfmask.workbench._candidate import KIND, candidate_of, stamp_of
from halfmask.workbench._json_files import write_json
from halfmask.workbench._making import make_candidate

HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}\u202e"
COLUMNS = """\
halfmask = 1

[columns]
age = { role = "quasi_identifier", kind = "numeric" }
town = { role = "quasi_identifier", kind = "categorical" }
illness = { role = "sensitive", kind = "categorical" }
number = { role = "identifier" }
"""
#: The same with the number of the person released: it says which row each released row is.
NUMBERED = COLUMNS.replace('"identifier"', '"insensitive", kind = "numeric"')
CLASSES = """
[[guarantees]]
model = "k-anonymity"
k = 5
"""
MASKED = NUMBERED.replace(
    'kind = "numeric" }\ntown',
    'kind = "numeric", mask = { name = "round", base = 10 } }\ntown',
)
SYNTHETIC = COLUMNS + '\n[synthesis]\nkind = "full"\n'
PRIVATE = """\
halfmask = 1

[columns]
town = { role = "quasi_identifier", kind = "categorical", least_level = 0, greatest_level = 0 }
age = { role = "identifier" }
illness = { role = "identifier" }
number = { role = "identifier" }

[[guarantees]]
model = "differential-privacy"
epsilon = 1.0
delta = 1e-3
sampling_fraction = 0.5
"""
TABLES = """\
halfmask-tables = 1

[[tables]]
name = "ill"
dimensions = ["town", "illness"]

[[rules]]
rule = "minimum-frequency"
n = 3
"""


def people(n: int = 300) -> pl.DataFrame:
    """Return people of whom some are rare; one town has a hostile name."""
    towns = ["Lyon", "Nice", "Rome", HOSTILE]
    return pl.DataFrame(
        {
            "age": [20 + (it * it * 7 + it) % 61 for it in range(n)],
            "town": [towns[(it + it // 7) % 4] for it in range(n)],
            "illness": [("flu", "asthma", "gout")[(it // 3) % 3] for it in range(n)],
            "number": list(range(1000, 1000 + n)),
        }
    )


def matched(pattern: str, text: str) -> str:
    """Return what the one group of a pattern matches, which must be there."""
    found = re.search(pattern, text, re.DOTALL)
    assert found, pattern
    return str(found[1])


def newest(bench):
    """Return the newest candidate, which must be there."""
    found = candidate_of(bench.desk)
    assert found is not None
    return found


def lay_out(folder, policy: str, rows: pl.DataFrame | None = None):
    """Write a table and a policy into a folder; return the table's path."""
    table = folder / "people.csv"
    (people() if rows is None else rows).write_csv(table)
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    return table


def make_here(bench):
    """Make a candidate as its job does, but in this process, which has compiled what it needs."""
    project = bench.project
    folder = project.hidden / "jobs" / secrets.token_hex(8)
    folder.mkdir(parents=True)
    given = {
        "policy": project.policy_text(),
        "table": project.table,
        "project": str(project.folder),
        "stamp": stamp_of(project),
    }
    write_json(
        folder / "job.json",
        {"kind": KIND, "work": "m:f", "arguments": given, "started": 0.0},
    )
    made = make_candidate(silent, folder, **given)
    write_json(folder / "end.json", {"state": "done", "result": made, "at": 1.0})
    return bench.desk.jobs.get(folder.name)
