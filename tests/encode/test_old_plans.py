"""Plans that version 0.1 wrote are read, whatever classes are called since."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import polars as pl
import pytest

from halfmask.encode import Codec

OLD = json.loads((Path(__file__).parent / "codec_of_0_1.json").read_text(encoding="utf-8"))
ROWS = pl.DataFrame(
    {
        "age": [41, 17, 30, 55, 62, 23, 38, 47],
        "city": ["Bree", "Dale", "Bree", "Esgaroth", "Dale", "Bree", "Dale", "Bree"],
        "pay": [1.5, 2.25, 3.0, 8.5, 4.75, 1.25, 9.5, 2.5],
    }
)


@pytest.mark.parametrize("learner", list(OLD))
def test_a_codec_of_version_0_1_decodes_what_it_encoded(learner):
    """And writes the same names as before, so that both read what either wrote."""
    codec = Codec.from_bytes(base64.b64decode(OLD[learner]["plan"]))

    assert codec.decode(pl.DataFrame(OLD[learner]["encoded"])).equals(ROWS)
    again = Codec.from_bytes(codec.to_bytes())
    assert again.decode(pl.DataFrame(OLD[learner]["encoded"])).equals(ROWS)
