"""Tables in folders that every worker sees, and what is made of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from engines.on_workers import with_most  # type: ignore[import-not-found] # beside
from halfmask import Secret
from halfmask.encode import Codec, encode_file, encode_folder, fit_file
from halfmask.hashing import FileHasher, HasherSettings
from halfmask.microdata import Policy, mask, protect_to
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    COLUMNS,
    KEY,
    K,
    people,
    policy,
    promise,
)

#: k, l and t at once.
PROMISES = [
    K,
    promise("distinct-l-diversity", "illness", l=2),
    promise("t-closeness", "pay", t=0.5, distance="ordered"),
]


def many_people(n=24_000):
    """Return many people: those of a small table again and again, of other ages and incomes."""
    rng = np.random.default_rng(3)
    rows = people(1500)[rng.integers(1500, size=n)]
    return rows.with_columns(
        row=np.arange(n),
        name=pl.Series([f"Person {i}" for i in range(n)]),
        age=pl.col("age") + rng.integers(12, size=n),
        spent=pl.col("spent") * rng.random(n),
    )


def parquet_folder(table, folder, n_files=3):
    """Write a table into files of different sizes, the first of several row groups."""
    folder.mkdir()
    first, bounds = 0, [table.height * n * n // n_files**2 for n in range(1, n_files + 1)]
    for number, stop in enumerate(bounds):
        rows = table.slice(first, stop - first)
        rows.write_parquet(folder / f"{number}.parquet", row_group_size=max(17, rows.height // 5))
        first = stop
    return folder


def masking_policy():
    """Return a policy of masks: noise, a token, one that counts values, and sampled rows."""
    masks = {
        "spent": {"name": "noise", "law": "gaussian", "scale": 5.0, "decimals": 1},
        "town": {"name": "token"},
        "pay": {"name": "tails", "low_share": 0.1, "high_share": 0.1},
    }
    columns = {
        name: {**section, **({"mask": masks[name]} if name in masks else {})}
        for name, section in COLUMNS.items()
    }
    return Policy(halfmask=1, columns=columns, masks=[{"name": "sampling", "fraction": 0.7}])


def protected(table, out, engine, *, overwrite=False):
    """Protect a folder; return the release."""
    return protect_to(table, policy(*PROMISES), out, key=KEY, engine=engine, overwrite=overwrite)


def masked(table, out, engine, *, overwrite=False):
    """Mask a folder; return the release."""
    return mask(table, masking_policy(), key=KEY, engine=engine).write(out, overwrite=overwrite)


def encoded(table, out, engine):
    """Fit a codec to a folder, and encode it into a folder and a file; return the codec."""
    codec = Codec(learner="linear", secret=Secret.from_bytes(KEY), missing="hidden")
    fit_file(codec, table, target="illness", engine=engine)
    out.mkdir()
    encode_folder(codec, table, out / "folder", number=1, engine=engine)
    encode_file(codec, table, out / "one.parquet", number=1, ids=True, engine=engine)
    return codec


def hashed(table, out, engine):
    """Fit a hasher to a folder, and hash it into a folder; return the hasher."""
    settings = HasherSettings(
        text=("note",), numbers="quantiles", bins=7, interactions=(("town", "smoker"),)
    )
    secret = Secret.from_bytes(KEY)
    hasher = FileHasher.fit(table, settings=settings, secret=secret, label="illness")
    hasher.write_folder(table, out, engine=engine)
    return hasher


def files_in(out):
    """Return the bytes of each file below a folder."""
    return {
        str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()
    }


def contents(out):
    """Return the hash of the sorted rows, and the bytes of each file."""
    files = sorted((out / "data").iterdir())
    rows = pl.concat([pl.read_parquet(path) for path in files])
    lines = sorted(map(repr, rows.rows()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@dataclass
class KeepingFew:
    """An engine whose summaries keep 100 rows, so that the plan comes from a sample."""

    engine: Any

    def map(self, batches, apply, /):
        return self.engine.map(batches, apply)

    def fold(self, batches, summarize, merge, /):
        few = partial(partial, with_most, 100)
        return self.engine.fold(batches, few(summarize), few(merge))
