"""One file through a sealed codec, in a process of its own: what memory it takes is its own.

python benchmarks/speed/encode_once.py fit|encode|decode TABLE PLAN OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from halfmask.encode import Codec, decode_file, encode_file, fit_file


def main() -> None:
    task, table, plan, out = sys.argv[1:]
    codec = Codec.from_bytes(Path(plan).read_bytes())
    if task == "fit":
        fit_file(Codec(learner=codec.learner), table)
    elif task == "encode":
        encode_file(codec, table, out, overwrite=True)
    else:
        decode_file(codec, table, out, overwrite=True)


if __name__ == "__main__":
    main()
