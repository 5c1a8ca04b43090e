"""What the page for writers of clients shows runs, line by line, against a trainer."""

from __future__ import annotations

import json
import shutil
import subprocess

import polars as pl
import pytest

from halfmask.hashing import FileHasher, HasherSettings
from halfmask.vault import Secret
from trainer.client.trainer import Trainer  # type: ignore[import-not-found] # beside, no package


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl isn't installed")
def test_the_lines_of_curl_push_once_and_predict(page_at, tmp_path):
    (lines,) = page_at("docs/how-to/write-a-client.md").blocks("sh")
    people = pl.DataFrame({"age": list(range(80)), "pays": ["no", "yes"] * 40})
    settings = HasherSettings(bits=18)
    hasher = FileHasher.fit(people, settings=settings, secret=Secret.fresh(), label="pays")
    hasher.write(people, tmp_path / "people.arrows")

    with Trainer.started(tmp_path) as trainer:
        surroundings = {"PATH": "/usr/bin:/bin", "URL": trainer.url, "TOKEN": trainer.token()}
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", lines],
            cwd=tmp_path, env=surroundings, capture_output=True, check=False, timeout=600,
        )  # fmt: skip

    assert done.stderr == b""
    decoder, text, told = json.JSONDecoder(), done.stdout.decode(), []
    while text:
        found, end = decoder.raw_decode(text)
        told.append(found)
        text = text[end:].lstrip()
    made, first, second, predicted, metrics = told
    assert (made["name"], made["bits"]) == ("by-hand", 18)
    assert (first["rows"], first["replayed"]) == (80, False)
    assert (second["seq"], second["replayed"]) == (first["seq"], True)
    assert len(predicted["predictions"]) == 2
    assert all(0 < each < 1 for each in predicted["predictions"])
    assert metrics["logged"] == 1
