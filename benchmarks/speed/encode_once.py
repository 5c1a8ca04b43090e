"""One file through a sealed codec, in a process of its own: what memory it takes is its own.

`encoding.py` starts it. PLAN holds a codec's bytes, which for `fit` name its learner.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from halfmask.encode import Codec, decode_file, encode_file, fit_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("fit", "encode", "decode"))
    for name in ("table", "plan", "out"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    codec = Codec.from_bytes(asked.plan.read_bytes())
    if asked.task == "fit":
        fit_file(Codec(learner=codec.learner), asked.table)
    elif asked.task == "encode":
        encode_file(codec, asked.table, asked.out, overwrite=True)
    else:
        decode_file(codec, asked.table, asked.out, overwrite=True)


if __name__ == "__main__":
    main()
