"""The book of releases: what two releases tell together, a series of six, and what booking costs.

- Adult: two releases of 25,000 rows that share 5,000 people, at k = 5, 10 and 50: whose occupation
  is known exactly from one of them, and from both.
- Six months of US hospitals (`diabetes_130_hospitals`), with the first remedy (classes are reused,
  and a twentieth of the people may wait), and without it. Who has which class is counted by
  `tests/book/independent_count.py`, which calls nothing of ours.
- A million people: seconds of `protect_to` with and without the book, the size of the book, and
  the check against ten earlier releases.

`--quick` has k = 5 alone, four months, and 50,000 people.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

sys.path.pop(0)  # this file has the name of a folder of tests
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from bars import Bar, report, say
from book.independent_count import count_k, find_candidates, read_people, share_who_must_wait
from book.series import Series, diabetes
from halfmask import Anonymizer, KAnonymity, Ranges, TableTarget, protect, protect_to
from halfmask.assess.attacks.releases import Intersection
from halfmask.book import ReleaseBook
from halfmask.microdata import Policy
from halfmask.vault import KeyFile, Vault
from peers import REPOSITORY
from workloads import ADULT_CSV, LABEL, NUMERIC, QUASI_IDENTIFIERS, bootstrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halfmask.release.booking import Booking

SHARED = REPOSITORY.parent / "shared" / "data"
PEOPLE = 1_000_000
RUNS = 3
FLOOR = 5
MOST_WAITING = 0.05


def vault_in(folder: Path, dataset: str) -> Vault:
    """Return a new vault with the book of a data set."""
    vault = Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
    ReleaseBook.create(vault, dataset=dataset)
    return vault


def at_most(name: str, value: float | None, goal: float, why: str = "") -> Bar:
    return Bar(name=name, value=value, goal=goal, side="at most", why=why)


def at_least(name: str, value: float | None, goal: float, why: str = "") -> Bar:
    return Bar(name=name, value=value, goal=goal, side="at least", why=why)


# ------------------------------------------------------------------------------------- a series


def series(months: int) -> list[Bar]:
    """Return what six months keep with the first remedy, and where they break without it."""
    if not SHARED.is_dir():
        return [at_least("series: effective k", None, FLOOR, "shared data are absent")]
    patients = diabetes(SHARED)
    patients = replace(patients, months=patients.months[:months])
    with tempfile.TemporaryDirectory() as folder:
        without = [refused(patients, Path(folder), share) for share in (0.0, MOST_WAITING)]
        return [*kept(patients, Path(folder)), *without]


def kept(patients: Series, folder: Path) -> list[Bar]:
    """Return the least k over all months and receivers, and who waited."""
    out = folder / "kept"
    out.mkdir()
    (folder / "with").mkdir()
    vault = vault_in(folder / "with", "series")
    broken = patients.release(out, vault, reuse=True, leave_out=MOST_WAITING)
    released = list(patients.read(out).values())
    shares = [
        1 - len(people) / table.height
        for people, table in zip(released, patients.months, strict=False)
    ]
    why = f"{len(released)} of {len(patients.months)} months left; waiting: " + ", ".join(
        f"{share:.1%}" for share in shares
    )
    say(why)
    scopes = [released, released[::2], released[1::2]]
    least = None if broken else float(min(map(count_k, scopes)))
    return [
        at_least("series with the first remedy: effective k, counted", least, FLOOR, why),
        at_most("series with the first remedy: largest share waiting", max(shares), MOST_WAITING),
    ]


def refused(patients: Series, folder: Path, most_waiting: float) -> Bar:
    """Return whether the month that is refused without the first remedy is the one that breaks.

    By the count a month breaks if more people than may are in groups of less than k: none of them
    can leave.
    """
    where = folder / f"{most_waiting}"
    out = where / "releases"
    out.mkdir(parents=True)
    vault = vault_in(where, "series")
    found = patients.release(out, vault, reuse=False, leave_out=most_waiting)
    if found is not None:
        protect(patients.months[found - 1], patients.policy()).write(out / f"{found}")
    months = list(patients.read(out).values())
    shares = [
        share_who_must_wait(months[:number], month, FLOOR) for number, month in enumerate(months)
    ]
    counted = next((month for month, it in enumerate(shares, start=1) if it > most_waiting), None)
    why = f"refused in month {found}; must wait, counted: {', '.join(map('{:.1%}'.format, shares))}"
    say(why)
    apart = None if found is None or counted is None else abs(found - counted)
    name = f"series without it, {most_waiting:.0%} may wait: months between refusal and break"
    return at_most(name, apart, 0, why)


# ------------------------------------------------------------------------------ a million people


def people(n: int) -> pl.DataFrame:
    """Return n rows made of Adult, each of a person of its own."""
    whose = np.random.default_rng(0).permutation(n) * 7_919
    return bootstrapped(n).with_columns(pl.Series("person", whose))


def policy_of(**book: object) -> Policy:
    """Return the policy of a release, with the book if anything is said of it."""
    columns: dict[str, dict[str, Any]] = {
        name: quasi_identifier(name) for name in QUASI_IDENTIFIERS
    }
    columns[LABEL] = {"role": "sensitive", "kind": "categorical"}
    columns["person"] = {"role": "identifier"}
    booked = {"dataset": "people", "receiver": "all", "person": "person", **book}
    return Policy(
        halfmask=1,
        columns=columns,
        guarantees=[{"model": "k-anonymity", "k": 50}],
        **({"book": booked} if book else {}),
    )


def quasi_identifier(name: str) -> dict[str, Any]:
    kind = "numeric" if name in NUMERIC else "categorical"
    return {"role": "quasi_identifier", "kind": kind}


def cpu_of(run: Callable[[], object]) -> float:
    """Return the CPU seconds of all threads: what else the machine does isn't among them."""
    start = time.process_time()
    run()
    return time.process_time() - start


def booking(n: int) -> list[Bar]:
    """Return what the book adds to `protect_to`, and how large it gets."""
    table = people(n)
    plain, booked, sizes = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for run in range(RUNS):
            where = Path(folder) / f"{run}"
            where.mkdir()
            vault = vault_in(where, "people")
            plain.append(cpu_of(partial(protect_to, table, policy_of(), where / "plain")))
            booked.append(
                cpu_of(
                    partial(
                        protect_to, table, policy_of(min_k=FLOOR), where / "booked", vault=vault
                    )
                )
            )
            sizes.append((where / "vault" / "people.book").stat().st_size / 1e6)
    without, with_book = min(plain), min(booked)
    why = f"CPU s: {without:.2f} without, {with_book:.2f} with the book"
    say(why)
    return [
        at_most(f"booking {n:,} people / protect", with_book / without - 1, 0.2, why),
        at_most(f"book of {n:,} people, MB", max(sizes), 100, "one release"),
    ]


@dataclass(frozen=True, slots=True)
class TimedBooking:
    """A booking whose check is timed: from the question to the verdict."""

    booking: Booking
    seconds: list[float]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 # as the booking has it
        return getattr(self.booking, name)

    @contextmanager
    def leaving(self, release: Any, out: str | Path) -> Iterator[Any]:  # noqa: ANN401 # as the booking has it
        start = time.perf_counter()
        with self.booking.leaving(release, out) as departure:
            self.seconds.append(time.perf_counter() - start)
            yield departure


def check(n: int, earlier: int) -> list[Bar]:
    """Return how long a release is checked against earlier ones of as many people.

    A tenth of the people is new in each release; the others have mostly the classes that they had.
    """
    table = people(2 * n)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        vault = vault_in(Path(folder), "people")
        for month in range(earlier + 1):
            first = month * n // 10
            policy = policy_of(reuse="last") if month else policy_of(join="all")
            book = ReleaseBook.open(vault, dataset="people")
            timed = TimedBooking(book.booking(policy.book), seconds)
            made = protect(table[first : first + n], policy, vault=vault, book=timed)
            made.write(Path(folder) / f"{month}")
            say(f"{n:,} people against {month} earlier releases: {seconds[-1]:.1f} s")
    name = f"{n:,} people against {earlier} earlier releases, s"
    return [at_most(name, seconds[-1], 10 * n / PEOPLE)]


# ----------------------------------------------------------------------------------------- Adult

#: By k, the shares of people known by one and by both as they were measured before there was a
#: book, and how far from the second the share may be: other rows were drawn then.
REFERENCE = {5: (0.028, 0.101, 0.02), 10: (0.007, 0.024, 0.01), 50: (0.0, 0.0, 0.002)}
ADULT = (
    "age", "workclass", "education", "marital-status", "relationship", "race", "sex",
    "hours-per-week",
)  # fmt: skip


def adult(k: int, draws: int) -> list[Bar]:
    """Return whose occupation is known exactly: from the first release, and from both."""
    columns = {name: quasi_identifier(name) for name in ADULT}
    columns["occupation"] = {"role": "sensitive", "kind": "categorical"}
    columns["row"] = {"role": "insensitive", "kind": "numeric"}
    policy = Policy(
        halfmask=1,
        columns=columns,
        guarantees=[{"model": "k-anonymity", "k": k}],
        output={"format": "csv"},
    )
    table = pl.read_csv(ADULT_CSV).with_row_index("row").select(*columns)
    alone, together = [], []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(table.height)
        shared = {str(row) for row in order[:5_000]}
        releases = []
        with tempfile.TemporaryDirectory() as folder:
            for number, others in enumerate((order[5_000:25_000], order[25_000:45_000])):
                out = Path(folder) / f"{number}"
                protect(table[np.append(order[:5_000], others)], policy).write(out)
                whose = {str(row): str(row) for row in range(table.height)}
                names = {"row": "row", "quasi_identifiers": ADULT, "value": "occupation"}
                releases.append(read_people(out, whose, **names))
        for found, given in ((alone, releases[:1]), (together, releases)):
            candidates = find_candidates(given)
            found.append(np.mean([len(candidates[row]) == 1 for row in shared]))
    before, after, apart = REFERENCE[k]
    why = f"{np.mean(alone):.1%} by one release; {before:.1%} and {after:.1%} in the reference"
    say(f"Adult, k = {k}: {why}, {np.mean(together):.1%} by both")
    name = f"Adult, k = {k}: share of people known by both releases, distance to reference"
    distance = float(abs(np.mean(together) - after))
    return [at_most(name, distance, apart, f"{np.mean(together):.1%} by both, {why}")]


def attacked(k: int) -> list[Bar]:
    """Return how far the attack without a book is from the same count by classes, on Adult."""
    known = [name for name in ADULT if name != "relationship"] + ["native-country"]
    table = pl.read_csv(ADULT_CSV).with_row_index("row")
    order = np.random.default_rng(0).permutation(table.height)
    months = [table[order[:25_000]], table[order[20_000:45_000]]]
    protection = Anonymizer(
        guarantees=[KAnonymity(k=k)], quasi_identifiers=known, recoding=Ranges()
    )
    releases = [protection.fit_transform(it.select(*known, "occupation")) for it in months]
    candidates: dict[int, set[str]] = {}
    people = [set(it["row"]) for it in months]
    for month, released in zip(months, releases, strict=True):
        values = released.group_by(known).agg(pl.col("occupation").unique())
        rows = dict(zip(values.select(known).iter_rows(), values["occupation"], strict=True))
        for row, key in zip(month["row"], released.select(known).iter_rows(), strict=True):
            candidates[row] = candidates.get(row, set(rows[key])) & set(rows[key])
    counted = np.mean([len(candidates[row]) == 1 for row in people[0] & people[1]])
    target = TableTarget(
        released=releases[1],
        original=months[1],
        earlier=[(releases[0], months[0])],
        quasi_identifiers=tuple(known),
        secrets=("occupation",),
        person="row",
    )
    (found,) = Intersection(candidates=(1,), n_people=5_000).run(target, random_state=0)
    why = f"{found.success.value:.1%} attacked, {counted:.1%} counted"
    name = f"Adult, k = {k}: share of people exposed, attack against count"
    return [at_most(name, float(abs(found.success.value - counted)), 0.001, why)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables, fewer months")
    if parser.parse_args().quick:
        bars = [*adult(5, 1), *series(4), *booking(50_000), *check(50_000, 3)]
    else:
        bars = [bar for k in REFERENCE for bar in (*adult(k, 3), *attacked(k))]
        bars += [*series(6), *booking(PEOPLE), *check(PEOPLE, 10)]
    report(bars)


if __name__ == "__main__":
    main()
