"""A codec's secret and plan live in a vault, and nowhere else."""

from __future__ import annotations

import pytest

from halfmask._errors import KeyMismatchError
from halfmask.encode import Codec
from halfmask.vault import KeyFile, Vault


def test_a_sealed_plan_decodes_what_was_sent(table, tmp_path):
    vault = Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    codec = Codec(learner="linear", secret=vault.secret("people")).fit(table, target="town")
    sent = codec.encode(table)
    vault.seal("plan of people", codec.to_bytes(), context="people")

    opened = Vault.open(tmp_path / "vault", lock=KeyFile(tmp_path / "key"))
    again = Codec.from_bytes(opened.unseal("plan of people", context="people"))

    assert again.decode(sent).equals(codec.decode(sent))
    refit = Codec(learner="linear", secret=opened.secret("people")).fit(table, target="town")
    assert refit.encode(table).equals(sent)
    with pytest.raises(KeyMismatchError):
        opened.unseal("plan of people", context="others")
    sealed = b"".join(it.read_bytes() for it in (tmp_path / "vault").rglob("*") if it.is_file())
    assert b"Bree" not in sealed
