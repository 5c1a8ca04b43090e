"""What `describe` proposes for real tables is accepted, and each risk that is said is so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from halfmask.data import ReadOptions, open_table
from halfmask.description import describe
from halfmask.microdata import Policy, protect

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 3_000
SHARED = Path(__file__).parents[3] / "shared" / "data"
#: Tables that a newcomer's first call refuses, for a reason that it says.
REFUSED = {
    "diabetes_130_hospitals_ids_mapping.csv",  # three tables in one file
    "geo/us_counties.geojson.gz",  # no table
    "mia/location30_bangkok.csv.gz",  # no header
    "pii/presidio_synth_dataset_v2.json.gz",  # an array and not lines
}


def _tables() -> list[str]:
    found = (path for path in SHARED.rglob("*") if path.is_file())
    names = (path.relative_to(SHARED).as_posix() for path in found)
    return sorted(name for name in names if "hierarchies" not in name and ".md" not in name)


def _counted(frame: pl.DataFrame, names: Sequence[str], k: int) -> tuple[int, int, int]:
    """Return unique rows, rows in classes under k, and the smallest class, by polars alone."""
    bits = pl.selectors.by_name(names) & pl.selectors.float()
    cells = frame.select(names).with_columns(bits.cast(pl.Float64).reinterpret(dtype=pl.Int64))
    sizes = cells.group_by(names).len()["len"]
    return int((sizes == 1).sum()), int(sizes.filter(sizes < k).sum()), min(sizes.to_list())


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore:The identifier .* name it as person:halfmask.ColumnWarning")
@pytest.mark.parametrize("name", [name for name in _tables() if name not in REFUSED])
def test_a_proposed_policy_is_accepted_and_its_risks_are_true(shared_data, tmp_path, name):
    """Each number is that of a count of the released rows that shares no code with ours."""
    path = shared_data / name
    policy = Policy.from_toml(describe(open_table(path), sample=ROWS).policy_toml())
    options = policy.read_options()
    rows = open_table(path, options=replace(options, derived={})).read()
    rows = rows.sample(min(ROWS, rows.height), seed=1)
    table = open_table(rows, options=ReadOptions(derived=options.derived)).read()

    release = protect(rows, policy).write(tmp_path / "out")

    data, risk = release.data, release.risk
    quasi = list(release.source.schema.quasi_identifiers)
    unique, under, smallest = _counted(data, quasi, risk.columns.k)
    assert (unique, under) == (risk.after.uniqueness.rows, 0)
    assert risk.after.prosecutor.highest.value == 1 / smallest
    assert risk.before.uniqueness.rows == _counted(table, quasi, 2)[0]
    unchanged = {name for name in data.columns if name not in quasi}
    assert set(risk.columns.every.columns) == set(data.columns)
    assert set(risk.columns.unchanged.columns if risk.columns.unchanged else ()) == unchanged
    for each in risk.columns.sets:
        found = _counted(data, each.columns, risk.columns.k)
        assert (each.unique, each.under_k) == found[:2], each.columns
    assert (risk.columns.warning is None) == (
        not unchanged or _counted(data, sorted(unchanged), risk.columns.k)[1] == 0
    )
