"""Protect Adult from Python: the same as `make demo`."""

from __future__ import annotations

from pathlib import Path

import halfmask as hm

here = Path(__file__).parent
policy = hm.Policy.load(here / "policy.toml")
Path("out").mkdir(exist_ok=True)
release = hm.protect(here / "adult.csv", policy).write("out/adult", overwrite=True)

for claim in release.verification.claims:
    print(claim.sentence)
print(release.risk)
print(release.utility.model.sentence)
