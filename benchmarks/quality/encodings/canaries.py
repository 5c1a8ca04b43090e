"""No canary leaves: names, categories and numbers are looked for in every byte of what is sent."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.encode import Codec, encode_file, fit_file

ROWS, FEW = 20_000, 500
FORMATS = ("parquet", "csv", "arrow")


def measure(*, quick: bool, seed: int) -> dict[str, Any]:
    """Plant canaries, encode files, and look for them."""
    rows, texts, numbers = _planted(FEW if quick else ROWS, seed)
    found, n_bytes, plain = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home.parquet"
        rows.write_parquet(home)
        plain = _seen(_all_bytes(home), texts, numbers)
        for learner in ("trees", "distances", "linear", "networks"):
            codec = Codec(learner=learner, split=True, precision="column")  # type: ignore[arg-type] # one of them
            fit_file(codec, home, target="label")
            for form in FORMATS:
                out = Path(folder) / f"{learner}.{form}"
                encode_file(codec, home, out, format=form)  # type: ignore[arg-type] # the same
                data = _all_bytes(out)
                n_bytes += len(data)
                found += _seen(data, texts, numbers)
    return {
        "canaries in what leaves": {"value": found, "goal": 0, "holds": found == 0},
        "canaries in the table at home (power)": {
            "value": plain, "goal": f">= {len(texts)}", "holds": plain >= len(texts),
        },
        "tables": f"{len(texts) + len(numbers):,} canaries, {n_bytes:,} bytes searched.",
    }  # fmt: skip


def _planted(n: int, seed: int) -> tuple[pl.DataFrame, list[bytes], list[bytes]]:
    rng = np.random.default_rng(seed)
    names = ["canary" + secrets.token_hex(12) for _ in range(3)]
    words = ["canary" + secrets.token_hex(12) for _ in range(8)]
    numbers = rng.normal(12_345.678, 1_000, n)
    rows = pl.DataFrame(
        {
            names[0]: rng.choice(words[:5], n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            names[1]: np.round(numbers, 6),
            names[2]: rng.integers(10**11, 10**12, n),
            "label": rng.choice(words[5:], n),
        }
    )
    few = rows[:200]
    values = [np.float64(each).tobytes() for each in few[names[1]]]
    values += [np.int64(each).tobytes() for each in few[names[2]]]
    values += [repr(each).encode() for each in (*few[names[1]], *few[names[2]])]
    return rows, [word.encode() for word in (*names, *words)], values


def _all_bytes(path: Path) -> bytes:
    """Return the file, and of Parquet also its pages unpacked and its footer."""
    data = path.read_bytes()
    if path.suffix != ".parquet":
        return data
    table = pq.read_table(path)
    unpacked = pa.BufferOutputStream()
    pq.write_table(table, unpacked, compression="none", use_dictionary=False)
    footer = repr(pq.ParquetFile(path).metadata.to_dict()) + repr(table.schema.metadata)
    return data + unpacked.getvalue().to_pybytes() + footer.encode()


def _seen(data: bytes, texts: list[bytes], numbers: list[bytes]) -> int:
    return sum(each in data for each in (*texts, *numbers))
