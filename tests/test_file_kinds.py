"""A file of one kind, given where another is wanted: the error says whose it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from halfmask import DataError, HalfmaskError, Policy, PolicyError
from halfmask._policy_files import check_kind
from halfmask.crosstabs import TablesPolicy
from halfmask.events import EventPolicy, SecretTable

GIVEN = {
    "halfmask": "halfmask protect",
    "halfmask-events": "halfmask events run",
    "halfmask-table": "halfmask events table set",
    "halfmask-tables": "halfmask protect",
}
READERS: dict[str, tuple[Callable[[str], object], type[HalfmaskError]]] = {
    "halfmask": (Policy.from_toml, PolicyError),
    "halfmask-events": (EventPolicy.from_toml, PolicyError),
    "halfmask-table": (SecretTable.from_toml, DataError),
    "halfmask-tables": (TablesPolicy.from_toml, PolicyError),
}


@pytest.mark.parametrize("wanted", READERS)
@pytest.mark.parametrize("given", GIVEN)
def test_a_file_of_another_kind(given, wanted):
    """What it is, what is wanted, and the command that takes it; of the same kind, other faults."""
    read, error = READERS[wanted]
    with pytest.raises(error) as caught:
        read(f'{given} = 1\nrelease = "CANARY"\n')

    assert "CANARY" not in str(caught.value)
    assert ("This is a" in caught.value.what) == (given != wanted)
    assert (GIVEN[given] in (caught.value.hint or "")) == (given != wanted)


def test_nothing_of_ours():
    """What a strange file lacks is said elsewhere, and a wanted key is enough."""
    check_kind({"name": "x"}, "halfmask", PolicyError)
    check_kind({"halfmask": 1, "halfmask-events": 1}, "halfmask", PolicyError)


@pytest.mark.parametrize("command", ["protect", "run", "reverse"])
def test_the_commands_say_it(command, tmp_path, capsys):
    """On the command line, before anything is read or written."""
    from halfmask.cli import main  # noqa: PLC0415 # half a second
    from halfmask.vault import KeyFile, Vault  # noqa: PLC0415 # as above

    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    other = "halfmask-events" if command == "protect" else "halfmask"
    policy, given, out = tmp_path / "p.toml", tmp_path / "in.csv", tmp_path / "out"
    policy.write_text(f"{other} = 1\n")
    given.write_text("a\n1\n")
    lock = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    words = {
        "protect": ["protect", given, policy, out],
        "run": ["events", "run", policy, given, out, *lock],
        "reverse": ["events", "reverse", policy, given, out, *lock],
    }[command]

    assert main([str(word) for word in words]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert GIVEN[other] in said
    assert not out.exists()
