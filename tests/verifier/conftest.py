"""Releases made by hand: a frame and claims in, a folder out, without what protect is made of."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halfmask.claims import ClassClaim as Claim
from halfmask.claims import Evidence, ReleasedColumn, RowCounts, SupportFile
from halfmask.claims import TableManifest as Manifest
from halfmask.claims.manifest import MANIFEST_NAME, DataFile, write_manifest

if TYPE_CHECKING:
    import polars as pl

    from halfmask.claims.claim import Basis

WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "parquet": lambda frame, path: frame.write_parquet(path),
    "csv": lambda frame, path: frame.write_csv(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
}

NO_EVIDENCE = Evidence(achieved=0, classes=0, rows=0, smallest_class=0)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def worst_risk(names: Sequence[str], rows: int, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return a risk over released columns that no table is worse than: every row is unique."""

    def stated(columns: Sequence[str]) -> dict[str, Any]:
        shares = {"share_unique": 1.0, "share_under_k": 1.0}
        return {"columns": list(columns), "unique": rows, "under_k": rows, **shares}

    unchanged = [name for name in names if roles[name] != "quasi_identifier"]
    found = {
        "k": 1_000_000,
        "exact": True,
        "every": stated(names),
        "unchanged": stated(unchanged) if unchanged else None,
        "few": [],
    }
    return {"released_columns": found}


@dataclasses.dataclass
class Folder:
    """A release folder that a test can break in every way."""

    path: Path
    manifest: Manifest

    @property
    def parts(self) -> list[Path]:
        return [self.path / each.name for each in self.manifest.files]

    def rewrite(self, **changes: Any) -> Folder:
        self.manifest = dataclasses.replace(self.manifest, **changes)
        write_manifest(self.manifest, self.path)
        return self

    def as_first_version(self) -> Folder:
        """Write the manifest as version 1, which stated no risk over released columns."""
        where = self.path / MANIFEST_NAME
        said = json.loads(where.read_text(encoding="utf-8"))
        said |= {"version": 1, **said.pop("details")}
        del said["kind"], said["risk"]["released_columns"]
        for claim in said["claims"]:
            del claim["basis"]
            claim.update(claim.pop("about"))
        where.write_text(json.dumps(said), encoding="utf-8")
        return self


class Maker:
    """Builds release folders under a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made = 0

    def __call__(
        self,
        frame: pl.DataFrame,
        claims: Sequence[Claim],
        *,
        roles: Mapping[str, str],
        kinds: Mapping[str, str] | None = None,
        trees: Mapping[str, Sequence[Sequence[str]]] | None = None,
        fmt: str = "parquet",
        n_parts: int = 1,
    ) -> Folder:
        self.made += 1
        path = self.root / f"release-{self.made}"
        (path / "data").mkdir(parents=True)
        files = []
        step = -(-frame.height // n_parts) or 1
        for number in range(n_parts):
            part = frame.slice(number * step, step)
            name = f"data/part-{number:05d}.{fmt}"
            WRITERS[fmt](part, path / name)
            files.append(self._file(path, name, fmt, part.height))
        manifest = Manifest(
            created="2026-11-21T09:00:00Z",
            software={"halfmask": "0.1.0"},
            policy_sha256="0" * 64,
            rows=RowCounts(n_in=frame.height, n_out=frame.height, n_suppressed=0),
            files=tuple(files),
            support=self._trees(path, trees or {}),
            columns=tuple(
                ReleasedColumn(
                    name=name,
                    role=roles[name],
                    kind=(kinds or {}).get(name, "categorical"),
                    recoding="ranges" if roles[name] == "quasi_identifier" else None,
                    dtype="str",
                )
                for name in frame.columns
            ),
            method={"name": "by hand"},
            claims=tuple(claims),
            risk=worst_risk(frame.columns, frame.height, roles),
        )
        write_manifest(manifest, path)
        return Folder(path, manifest)

    @staticmethod
    def _file(path: Path, name: str, fmt: str, n_rows: int) -> DataFile:
        return DataFile(
            name=name,
            format=fmt,
            sha256=sha256(path / name),
            n_bytes=(path / name).stat().st_size,
            n_rows=n_rows,
        )

    @staticmethod
    def _trees(path: Path, trees: Mapping[str, Sequence[Sequence[str]]]) -> tuple[SupportFile, ...]:
        found = []
        for number, (column, rows) in enumerate(trees.items()):
            (path / "support").mkdir(exist_ok=True)
            name = f"support/{number}.csv"
            with (path / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, delimiter=";").writerows(rows)
            found.append(SupportFile(name=name, column=column, sha256=sha256(path / name)))
        return tuple(found)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """A function that writes a release folder from a frame and claims."""
    return Maker(tmp_path)


OF_TABLE = {"average-risk", "sample-uniqueness", "records-at-risk", "population-uniqueness"}
OF_MONEY = {"profitability-prosecutor", "profitability-prosecutor-no-attack"}
OF_RATIOS = {"delta-disclosure-privacy", "basic-beta-likeness", "enhanced-beta-likeness"}


class Naive:
    """Claims judged row against row with exact fractions: slow, and nothing of ours in it."""

    def __init__(self, frame: pl.DataFrame, tree: Sequence[Sequence[str]] | None = None) -> None:
        self.rows = frame.to_dicts()
        self.tree = tree

    def compatible(self, claim: Claim, *, wildcard: bool) -> list[list[dict[str, Any]]]:
        """For each row the rows that it can't be told from."""
        names = claim.quasi_identifiers

        def alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
            if wildcard:
                return all(a[n] == b[n] or a[n] is None or b[n] is None for n in names)
            return all(a[n] == b[n] for n in names)

        return [[other for other in self.rows if alike(row, other)] for row in self.rows]

    def level(  # noqa: PLR0911 # one for each model
        self, claim: Claim, rows: Sequence[Mapping[str, Any]]
    ) -> Fraction | float:
        """The level of one set of rows."""
        if claim.model == "k-anonymity":
            return Fraction(len(rows))
        if claim.model == "largest-risk":
            return Fraction(1, len(rows))
        if claim.model in OF_MONEY:
            return self.paid(claim, len(rows))
        assert claim.column is not None
        counts = Counter(row[claim.column] for row in rows)
        falling = sorted(counts.values(), reverse=True)
        if claim.model == "distinct-l-diversity":
            return Fraction(len(counts))
        if claim.model == "entropy-l-diversity":
            return math.exp(-sum(n / len(rows) * math.log(n / len(rows)) for n in falling))
        if claim.model == "recursive-cl-diversity":
            tail = sum(falling[int(claim.parameters["l"]) - 1 :])
            return Fraction(falling[0], tail) if tail else math.inf
        if claim.model == "alpha-k-anonymity":
            enough = len(rows) >= int(claim.parameters["k"])
            return Fraction(falling[0], len(rows)) if enough else math.inf
        if claim.model in OF_RATIOS:
            return max(self.of_values(claim, counts))
        return self.distance(claim, counts)

    @staticmethod
    def paid(claim: Claim, rows: int) -> Fraction:
        """What an attack on one of some rows earns, or costs the publisher if it pays."""
        amount = {name: Fraction(str(value)) for name, value in claim.parameters.items()}
        earned = amount["adversary_gain"] / rows
        if "publisher_loss" not in amount:
            return earned
        return amount["publisher_loss"] / rows if earned > amount["adversary_cost"] else Fraction()

    def of_values(self, claim: Claim, counts: Counter[Any]) -> Iterator[Fraction | float]:
        """Each value's gain over the table, or the log of the ratio."""
        totals = Counter(row[str(claim.column)] for row in self.rows)
        for value, total in totals.items():
            p, q = Fraction(total, totals.total()), Fraction(counts[value], counts.total())
            if claim.model == "delta-disclosure-privacy":
                yield abs(math.log(q / p)) if q else math.inf
            elif claim.model == "enhanced-beta-likeness" and q / p - 1 > 1e-9 - math.log(p):
                yield math.inf
            else:
                yield q / p - 1

    def distance(self, claim: Claim, counts: Counter[Any]) -> Fraction:
        totals = Counter(row[str(claim.column)] for row in self.rows)
        n, total = sum(counts.values()), sum(totals.values())
        gap = {v: Fraction(counts[v], n) - Fraction(totals[v], total) for v in totals}
        if claim.parameters["distance"] == "equal":
            return sum((abs(each) for each in gap.values()), Fraction()) / 2
        if claim.parameters["distance"] == "ordered":
            order = self.order(list(totals))
            steps = [
                abs(sum((gap[v] for v in order[: i + 1]), Fraction()))
                for i in range(len(order) - 1)
            ]
            return sum(steps, Fraction()) / max(len(order) - 1, 1)
        # The mean, over the levels below the root, of the equal distance of the nodes there: not
        # the sum over nodes that the verifier takes.
        assert self.tree is not None
        ancestors = {row[0]: list(row) for row in self.tree}
        height = len(self.tree[0]) - 1
        far = Fraction()
        for level in range(height):
            nodes: dict[str, Fraction] = {}
            for value, each in gap.items():
                node = "missing" if value is None else f"node {ancestors[str(value)][level]}"
                nodes[node] = nodes.get(node, Fraction()) + each
            far += sum((abs(each) for each in nodes.values()), Fraction()) / 2
        return far / height

    def order(self, values: list[Any]) -> list[Any]:
        known = [v for v in values if v is not None]
        if self.tree is None:
            known.sort()
        else:
            place = [row[0] for row in self.tree]
            known.sort(key=lambda v: place.index(str(v)))
        return known + [None] * (None in values)

    def of_table(self, claim: Claim, *, wildcard: bool) -> Fraction:
        """The level of the table as a whole, row by row."""
        risks = [Fraction(1, len(each)) for each in self.compatible(claim, wildcard=wildcard)]
        if claim.model == "average-risk":
            return sum(risks, Fraction()) / len(risks)
        if claim.model == "sample-uniqueness":
            return Fraction(risks.count(Fraction(1)), len(risks))
        if claim.model == "population-uniqueness":
            return self.by_zayatz(risks, int(claim.parameters["population"]))
        above = Fraction(str(claim.parameters["risk"]))
        return Fraction(sum(risk > above for risk in risks), len(risks))

    @staticmethod
    def by_zayatz(risks: Sequence[Fraction], people: int) -> Fraction:
        """Zayatz's share of unique people: hypergeometric chances of drawing one of a class."""
        n = len(risks)
        one = risks.count(Fraction(1))
        once = {
            risk: Fraction(
                risk.denominator * math.comb(people - risk.denominator, n - 1),
                math.comb(people, n),
            )
            for risk in set(risks)
        }
        if not one:
            return Fraction()
        return one * one * once[Fraction(1)] / sum(r * once[r] for r in risks) / n

    def worst(self, claim: Claim, *, wildcard: bool) -> float:
        if claim.model in OF_TABLE:
            return float(self.of_table(claim, wildcard=wildcard))
        levels = [self.level(claim, each) for each in self.compatible(claim, wildcard=wildcard)]
        larger = claim.model in {
            "t-closeness",
            "recursive-cl-diversity",
            "alpha-k-anonymity",
            "largest-risk",
            *OF_MONEY,
            *OF_RATIOS,
        }
        return float(max(levels) if larger else min(levels))

    def keeps(self, claim: Claim) -> bool:
        """Whether the promise is kept, missing being a value and missing being a wildcard."""
        if claim.model in OF_TABLE:
            most = claim.parameters["share" if "share" in claim.parameters else "risk"]
            return all(
                self.of_table(claim, wildcard=wildcard) <= Fraction(str(most))
                for wildcard in (False, True)
            )
        return all(
            self._keeps_level(claim, self.level(claim, rows))
            for wildcard in (False, True)
            for rows in self.compatible(claim, wildcard=wildcard)
        )

    @staticmethod
    def _keeps_level(  # noqa: PLR0911 # one for each model
        claim: Claim, level: Fraction | float
    ) -> bool:
        threshold = {
            name: Fraction(str(claim.parameters[name]))
            for name in claim.parameters
            if name != "distance"
        }
        if claim.model in OF_MONEY:
            return level < threshold.get("publisher_benefit", threshold["adversary_cost"])
        if claim.model == "t-closeness":
            return level <= threshold["t"]
        if claim.model == "recursive-cl-diversity":
            return level < threshold["c"]
        if claim.model in {"alpha-k-anonymity", "largest-risk"}:
            return level <= next(iter(threshold.values()))
        if claim.model == "delta-disclosure-privacy":
            return level < threshold["delta"]
        if claim.model in OF_RATIOS:
            return level <= threshold["beta"]
        if claim.model == "entropy-l-diversity":
            return level >= float(threshold["l"]) - 1e-9
        return level >= threshold[next(iter(threshold))]

    def evidence(self, claim: Claim) -> Evidence:
        """What an honest release states."""
        classes = Counter(tuple(row[n] for n in claim.quasi_identifiers) for row in self.rows)
        achieved = self.worst(claim, wildcard=False)
        return Evidence(
            achieved=achieved if math.isfinite(achieved) else 1e300,
            classes=len(classes),
            rows=len(self.rows),
            smallest_class=min(classes.values()),
        )

    def honest(self, claim: Claim) -> Claim:
        return dataclasses.replace(claim, evidence=self.evidence(claim))


@pytest.fixture
def naive() -> type[Naive]:
    """The oracle."""
    return Naive


@pytest.fixture
def claim() -> Callable[..., Claim]:
    """A function that makes a claim without evidence."""

    def make_claim(
        model: str,
        column: str | None = None,
        *,
        by: Sequence[str] = ("age", "zip"),
        support: str | None = None,
        basis: Basis = "counted",
        **parameters: float | str,
    ) -> Claim:
        return Claim(
            model=model,
            parameters=parameters,
            column=column,
            quasi_identifiers=tuple(by),
            evidence=NO_EVIDENCE,
            support=support,
            basis=basis,
        )

    return make_claim
