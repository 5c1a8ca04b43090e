"""Protect four linked tables of turnover, and say what is hidden in each."""

from __future__ import annotations

from pathlib import Path

import halfmask as hm
from halfmask.crosstabs import TablesPolicy

here = Path(__file__).parent
policy = TablesPolicy.load(here / "policy.toml")
Path("out").mkdir(exist_ok=True)
release = hm.protect(here / "turnover", policy).write("out/turnover", overwrite=True)
for table in release.facts.tables:
    print(f"{table.name:20} {len(table.cells):5} cells {table.hidden.sum():5} hidden")
for claim in hm.verify("out/turnover").claims:
    print(claim.sentence)
