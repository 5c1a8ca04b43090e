"""Synthesize Adult in three ways, and compare what an attacker finds with what models keep."""

from __future__ import annotations

from pathlib import Path

import halfmask as hm

here = Path(__file__).parent
table = here.parent / "adult" / "adult.csv"
Path("out").mkdir(exist_ok=True)
print(
    f"{'kind':8} {'copied':>8} {'members found':>14} {'by chance':>10} {'AUC':>6} {'original':>9}"
)
for kind in ("full", "partial", "hybrid"):
    policy = hm.Policy.load(here / f"{kind}.toml")
    release = hm.synthesize(table, policy).write(f"out/synthetic-{kind}", overwrite=True)
    found = release.assessment
    member = next(it for it in found.findings if it.outcome.attack == "tables/density-membership")
    boosting = found.learners[-1]
    print(
        f"{kind:8} {found.copied / found.rows:8.1%} {member.outcome.success.value:14.1%} "
        f"{member.outcome.control.value:10.1%} {boosting.synthetic:6.3f} {boosting.original:9.3f}"
    )
