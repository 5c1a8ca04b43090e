"""A file that isn't there: the error says which of those that were named."""

from __future__ import annotations

import pytest

from halfmask.vault import KeyFile, Vault


@pytest.fixture
def sealed(desk):
    """The words that open a vault."""
    folder = desk.table.parent
    Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
    return ["--vault", folder / "vault", "--key-file", folder / "key"]


@pytest.mark.slow
def test_the_error_says_which_file_is_not_there(desk, sealed, run):
    nope, out = desk.table.parent / "nope.csv", desk.table.parent / "out"
    codec = ["--codec", "c", *sealed]
    fit = ["encode", "fit", desk.table, "--learner", "trees", *codec]
    assert run(*fit).status == 0
    cases = {
        "The table to read is not there.": [
            ["describe", nope],
            ["protect", nope, desk.policy, out],
            ["encode", "apply", nope, out.with_suffix(".parquet"), *codec],
            ["assess", "encoding", nope, desk.table],
        ],
        "The population is not there.": [
            ["protect", desk.table, desk.policy, out, "--population", nope]
        ],
        "The encoded table is not there.": [
            ["assess", "encoding", desk.table, nope],
            ["decode", nope, out.with_suffix(".csv"), *codec],
        ],
        "The file of predictions is not there.": [
            ["decode", nope, out.with_suffix(".csv"), "--predictions", *codec]
        ],
        "The key file is not there, or a part of it isn't.": [
            ["protect", desk.table, desk.policy, out, "--key-file", nope]
        ],
        "The policy file can't be read: No such file or directory.": [
            ["protect", desk.table, nope, out]
        ],
    }
    for says, commands in cases.items():
        for words in commands:
            answer = run(*words)
            assert (answer.status, answer.out) == (1, ""), words
            assert f"Error: {says}" in answer.err, (words, answer.err)
            assert "CANARY" not in answer.err
            assert not out.exists()
