"""Small tables of people, policies for them, and a slow count of what a release keeps."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog

from halfmask.microdata import Policy, protect_to
from halfmask.verifier.tables import verify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY = bytes(range(32))
QUASI = ("age", "town", "born", "smoker")
ILLNESSES = ("flu", "cold", "ache", "burn", "none")
#: Each illness, the kind that it is of, and the root.
TREE = {
    "flu": ("flu", "lungs", "*"),
    "cold": ("cold", "lungs", "*"),
    "ache": ("ache", "pain", "*"),
    "burn": ("burn", "pain", "*"),
    "none": ("none", "health", "*"),
}
GROUPS = {"lungs": ["flu", "cold"], "pain": ["ache", "burn"], "health": ["none"]}

COLUMNS: dict[str, dict[str, Any]] = {
    "row": {"role": "insensitive", "kind": "numeric"},
    "name": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "numeric"},
    "town": {"role": "quasi_identifier", "kind": "categorical"},
    "born": {"role": "quasi_identifier", "kind": "datetime"},
    "smoker": {"role": "quasi_identifier", "kind": "categorical"},
    "illness": {"role": "sensitive", "kind": "categorical"},
    "pay": {"role": "sensitive", "kind": "numeric"},
    "visit": {"role": "sensitive", "kind": "datetime"},
    "insured": {"role": "sensitive", "kind": "categorical"},
    "note": {"role": "sensitive", "kind": "text"},
    "buys": {"role": "insensitive", "kind": "categorical"},
    "spent": {"role": "insensitive", "kind": "numeric"},
}
UNTOUCHED = [name for name in COLUMNS if name not in {*QUASI, "name"}]
K = {"model": "k-anonymity", "k": 5}


def people(n: int = 240, seed: int = 1) -> pl.DataFrame:
    """Return n people; the column ``row`` says which line of the table each is."""
    rng = random.Random(seed)

    def day(first: int, last: int) -> dt.date:
        return dt.date(rng.randint(first, last), rng.randint(1, 12), rng.randint(1, 28))

    rows = []
    for i in range(n):
        age = rng.randint(18, 80)
        rows.append(
            {
                "row": i,
                "name": f"Person {i}",
                "age": age,
                "town": rng.choice(["Aa", "Bee", "Cee, upper", "=Dee", "Ee"]),
                "born": day(1940, 2005),
                "smoker": rng.random() < 0.3,
                "illness": rng.choice(ILLNESSES),
                "pay": rng.randint(10, 30) * 100,
                "visit": day(2024, 2026),
                "insured": rng.random() < 0.6,
                "note": rng.choice(["-", "=1+1", "see file", 'said "no"', "a\nb", "ä;ö"]),
                "buys": "yes" if age + rng.randint(-10, 10) > 45 else "no",
                "spent": age * 2.5 + rng.random(),
            }
        )
    return pl.DataFrame(rows)


def with_gaps(frame: pl.DataFrame, columns: Sequence[str], share: float = 0.1) -> pl.DataFrame:
    """Return the frame with some cells of columns missing."""
    rng = np.random.default_rng(5)
    return frame.with_columns(
        pl.when(pl.Series(rng.random(frame.height) >= share)).then(pl.col(name)).alias(name)
        for name in columns
    )


def policy(
    *promises: Mapping[str, object],
    columns: Mapping[str, Mapping[str, object]] | None = None,
    **sections: object,
) -> Policy:
    """Return a policy for `people`: 5-anonymity, if nothing else is promised."""
    said = {name: dict(section) for name, section in COLUMNS.items()}
    for name, changes in (columns or {}).items():
        said[name] = {**said.get(name, {}), **changes}
    return Policy(halfmask=1, columns=said, guarantees=list(promises or [K]), **sections)


def released(folder: Path) -> pl.DataFrame:
    """Return the rows of a release as its files have them; CSV as texts."""
    manifest = json.loads((folder / "manifest.json").read_text())
    readers: dict[str, Any] = {
        "parquet": pq.read_table,
        "csv": _read_csv,
        "arrow": lambda path: pa.ipc.open_file(path).read_all(),
        "jsonl": _read_jsonl,
    }
    parts = [readers[each["format"]](folder / each["name"]) for each in manifest["files"]]
    return pl.DataFrame(pl.from_arrow(pa.concat_tables(parts)))


def _read_csv(path: Path) -> pa.Table:
    header = path.read_text().splitlines()[0].split(",")
    options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    return pa.csv.read_csv(path, convert_options=options, parse_options=parse)


def _read_jsonl(path: Path) -> pa.Table:
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])


def typed(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return what a file says of an untouched column in its type, without guards of formulas."""
    if series.dtype != pl.String or dtype == pl.String:
        return series.cast(dtype) if dtype != pl.String else series.str.strip_prefix("'")
    if dtype == pl.Date:
        return series.str.to_date()
    if dtype == pl.Boolean:
        return series.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    return series.cast(dtype)


def classes(frame: pl.DataFrame, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the rows of each class."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in frame.to_dicts():
        found[tuple(row[name] for name in names)].append(row)
    return list(found.values())


def achieved(  # noqa: C901, PLR0911 # one for each model
    frame: pl.DataFrame,
    names: Sequence[str],
    promise: Mapping[str, Any],
    order: Sequence[Any] | None = None,
) -> float:
    """Return the level of the worst class, counted the slow way."""
    groups = classes(frame, names)
    if promise["model"] == "k-anonymity":
        return min(map(len, groups))
    if promise["model"] == "largest-risk":
        return 1 / min(map(len, groups))
    if promise["model"] in OF_MONEY:
        return max(_paid(promise, len(group)) for group in groups)
    if promise["model"] in OF_TABLE:
        return _table_level(promise, list(map(len, groups)))
    column = promise["column"]
    counts = [Counter(row[column] for row in group) for group in groups]
    if promise["model"] == "distinct-l-diversity":
        return min(map(len, counts))
    if promise["model"] == "entropy-l-diversity":
        return min(
            math.exp(-sum(n / c.total() * math.log(n / c.total()) for n in c.values()))
            for c in counts
        )
    if promise["model"] == "recursive-cl-diversity":
        falling = [sorted(c.values(), reverse=True) for c in counts]
        return max(each[0] / sum(each[promise["l"] - 1 :]) for each in falling)
    values = set(frame[column].to_list())
    if promise["model"] == "alpha-k-anonymity":
        assert min(map(len, groups)) >= promise["k"]
        return max(max(each.values()) / each.total() for each in counts)
    if promise["model"] in OF_RATIOS:
        return max(_ratio_level(each, sum(counts, Counter()), promise["model"]) for each in counts)
    known = [v for v in order if v in values] if order else sorted(values - {None})
    known += [None] * (None in values)
    if promise["distance"] == "ordered" and len(known) > 9:
        whole = _shares(sum(counts, Counter()), known)
        gaps = [np.cumsum(_shares(each, known) - whole) for each in counts]
        return max(float(np.abs(gap).sum()) / (len(known) - 1) for gap in gaps)
    cost = np.array([[_apart(a, b, known, promise["distance"]) for b in known] for a in known])
    whole = _shares(sum(counts, Counter()), known)
    return max(_moved(_shares(each, known), whole, cost) for each in counts)


OF_MONEY = {"profitability-prosecutor", "profitability-prosecutor-no-attack"}


def _paid(promise: Mapping[str, Any], rows: int) -> float:
    """Return what an attack earns, or costs the publisher if it pays."""
    earned = float(promise["adversary_gain"]) / rows
    if "publisher_loss" not in promise:
        return earned
    return float(promise["publisher_loss"]) / rows if earned > promise["adversary_cost"] else 0.0


OF_TABLE = {"average-risk", "sample-uniqueness", "records-at-risk"}


def _table_level(promise: Mapping[str, Any], sizes: Sequence[int]) -> float:
    """Return the level of the table as a whole, row by row."""
    risks = [1 / size for size in sizes for _ in range(size)]
    if promise["model"] == "average-risk":
        return sum(risks) / len(risks)
    above = float(promise.get("risk", 1 - 1e-9))
    return sum(risk > above for risk in risks) / len(risks)


OF_RATIOS = {"delta-disclosure-privacy", "basic-beta-likeness", "enhanced-beta-likeness"}


def _ratio_level(own: Counter[Any], whole: Counter[Any], model: str) -> float:
    """Return the largest gain, or log of a ratio, of a class over the table."""
    level = 0.0
    for value, count in whole.items():
        p, q = count / whole.total(), own[value] / own.total()
        if model == "delta-disclosure-privacy":
            level = max(level, abs(math.log(q / p)) if q else math.inf)
        else:
            gain = (q - p) / p
            unlikely = model == "enhanced-beta-likeness" and gain > 1e-9 - math.log(p)
            level = max(level, math.inf if unlikely else gain)
    return level


def _apart(a: object, b: object, known: Sequence[Any], distance: str) -> float:
    if a == b:
        return 0.0
    if distance == "equal":
        return 1.0
    if distance == "ordered":
        return abs(known.index(a) - known.index(b)) / (len(known) - 1)
    if a is None or b is None:
        return 1.0
    above = zip(TREE[str(a)], TREE[str(b)], strict=True)
    return next(level for level, (x, y) in enumerate(above) if x == y) / 2


def _shares(counts: Counter[Any], known: Sequence[Any]) -> np.ndarray[Any, Any]:
    return np.array([counts[value] / counts.total() for value in known])


def _moved(one: Any, other: Any, cost: Any) -> float:  # arrays
    """Return the earth mover's distance: the least work that turns one into the other."""
    n = len(one)
    if n == 1:
        return 0.0
    leaves = np.kron(np.eye(n), np.ones(n))
    arrives = np.kron(np.ones(n), np.eye(n))
    found = linprog(
        cost.ravel(), A_eq=np.vstack([leaves, arrives])[:-1], b_eq=np.append(one, other)[:-1]
    )
    return float(found.fun)


def promise(model, column=None, **parameters):
    return {"model": model, **({"column": column} if column else {}), **parameters}


def lies_in(value, label):
    """Return whether a raw value is one that a range or set stands for."""
    if label is None or value is None:
        return value is label or (label is not None and label.endswith(" or missing"))
    label = label.removesuffix(" or missing")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if found := re.fullmatch(r"\[(.+), (.+)\]", label):
        kind = type(value)
        low, high = (kind(x) if kind is int else kind.fromisoformat(x) for x in found.groups())
        return low <= value <= high
    return text in label


def check(table, wanted, out, promises, *, order=None, ranges=True, **options):
    """Protect, and hold everything that is on disk against a slow count and the raw rows."""
    release = protect_to(table, wanted, out, key=KEY, **options)

    assert verify(out).holds
    found = released(out)
    manifest = json.loads((out / "manifest.json").read_text())
    n_in, n_out = table.height, found.height
    assert {"in": n_in, "out": n_out, "suppressed": n_in - n_out} == manifest["details"]["rows"]
    assert release.rows == manifest["details"]["rows"]
    assert found.columns == [name for name in table.columns if name != "name"]
    dtypes = table.schema
    found = found.with_columns(typed(found[name], dtypes[name]) for name in UNTOUCHED)
    found, raw = found.sort("row"), table.join(found, on="row", how="semi").sort("row")
    assert found["row"].n_unique() == n_out
    assert found.select(UNTOUCHED).equals(raw.select(UNTOUCHED))
    if ranges:
        for name in QUASI:
            labels = found[name].str.strip_prefix("'")
            assert all(map(lies_in, raw[name], labels)), name
    groups = classes(found, QUASI)
    for claim, wish in zip(release.claims, promises, strict=True):
        evidence, said = claim.evidence, {"distance": "equal", **wish}
        assert evidence.achieved == pytest.approx(achieved(found, QUASI, said, order), abs=1e-9)
        assert (len(groups), n_out) == (evidence.classes, evidence.rows)
        assert min(map(len, groups)) == evidence.smallest_class
        keeps_promise(said, evidence.achieved)
    columns = release.risk.columns
    assert columns.exact
    for risk in columns.sets:
        assert (risk.unique, risk.under_k) == rare(found, risk.columns, columns.k), risk.columns
    return release, found


def rare(frame: pl.DataFrame, names: Sequence[str], k: int) -> tuple[int, int]:
    """Return how many rows are unique on columns, and how many fewer than k rows have alike."""
    sizes = [len(group) for group in classes(frame, names)]
    return sizes.count(1), sum(size for size in sizes if size < k)


def keeps_promise(said, level):
    if said["model"] == "recursive-cl-diversity":
        assert level < said["c"]
    elif said["model"] == "alpha-k-anonymity":
        assert level <= said["alpha"]
    elif said["model"] in OF_TABLE | {"largest-risk"}:
        assert level <= said.get("share", said.get("risk"))
    elif said["model"] in OF_MONEY:
        assert level < said.get("publisher_benefit", said["adversary_cost"])
    elif said["model"] in OF_RATIOS:
        assert level <= said.get("beta", said.get("delta")) + 1e-9
    elif said["model"] == "t-closeness":
        assert level <= said["t"] + 1e-9
    else:
        assert level >= said.get("k", said.get("l")) - 1e-9
