"""``halfmask vault``: keys made, listed, changed, split and destroyed, and never shown."""

from __future__ import annotations

import re
import stat
import sys

import pytest

from halfmask.vault import KeyFile, Passphrase, Vault

COMMANDS = ("create", "list", "rotate", "split", "join", "destroy")
WORDS = "CANARY six words drawn by dice"


class Room:
    """A vault behind a key file, and the words that name them."""

    def __init__(self, folder):
        self.folder = folder / "CANARY-folder"
        self.folder.mkdir()
        self.where, self.key = self.folder / "vault", self.folder / "key"
        self.lock = KeyFile.create(self.key)
        self.vault = Vault.create(self.where, lock=self.lock)
        self.secret = self.vault.secret("customers")
        self.vault.seal("plan", b"CANARY", context="CANARY")

    def words(self, command, *more):
        return ["vault", command, self.where, *more, "--key-file", self.key]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_create_makes_the_key_file(run, tmp_path):
    """Both are private; the answer names neither."""
    where, key = tmp_path / "CANARY", tmp_path / "CANARY-key"
    answer = run("vault", "create", where, "--key-file", key, "--json")

    vault = Vault.open(where, lock=KeyFile(key))
    assert answer.status == 0
    assert answer.json == {"ok": True, "vault": vault.id, "lock": "key-file"}
    assert "CANARY" not in answer.out + answer.err
    assert [stat.S_IMODE(path.stat().st_mode) for path in (where, key)] == [0o700, 0o600]
    assert run("vault", "create", where, "--key-file", key).status == 1


def test_list_shows_names_and_no_secret(run, room):
    answer, people = run(*room.words("list", "--json")), run(*room.words("list"))

    assert answer.json["entries"] == [
        {"name": "customers", "kind": "secret", "id": room.secret.id, "bytes": 32},
        {"name": "plan", "kind": "sealed", "id": None, "bytes": 6},
    ]
    assert re.search(rf"customers +secret +{room.secret.id} +32", people.out)
    assert "2 entries" in people.out
    for said in (answer.out, people.out):
        assert room.secret._bytes.hex() not in said
        assert "CANARY" not in said


def test_one_is_not_many(run, room):
    room.vault.destroy("plan")
    assert run(*room.words("list")).out.splitlines()[0].endswith(": 1 entry")


def test_a_name_cant_steer_the_terminal(run, room):
    room.vault.secret("a\x1b[2Jb")
    assert "\x1b" not in run(*room.words("list")).out


def test_rotate(run, room):
    """Under the same lock, then under another; the secret stays."""
    assert run(*room.words("rotate")).status == 0
    assert Vault.open(room.where, lock=room.lock).secret("customers") == room.secret
    new = room.folder / "new key"
    assert run(*room.words("rotate", "--new-key-file", new, "--json")).json["ok"]

    assert Vault.open(room.where, lock=KeyFile(new)).secret("customers") == room.secret
    answer = run(*room.words("list", "--json"))
    assert (answer.status, answer.json["code"]) == (1, "key-mismatch")


def test_split_and_join(run, room):
    """Parts lie in private files; enough of them give the vault a new lock."""
    out = room.folder / "parts"
    answer = run(*room.words("split", "--parts", 3, "--needed", 2, "--out", out, "--json"))
    names = answer.json["files"]
    assert names == [f"part-{number}-of-3.txt" for number in (1, 2, 3)]
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in names} == {0o600}
    part = (out / names[0]).read_text().split()[-2]
    assert part not in answer.out

    room.key.unlink()
    few = run("vault", "join", room.where, out / names[0], "--key-file", room.key, "--json")
    assert (few.status, few.json["code"]) == (1, "vault")
    assert "CANARY" not in few.out
    assert not room.key.exists(), "no key is made for a vault that doesn't open"
    joined = run(
        "vault", "join", room.where, *(out / it for it in names[1:]), "--key-file", room.key
    )
    assert joined.status == 0
    assert Vault.open(room.where, lock=room.lock).secret("customers") == room.secret


def test_parts_that_others_may_read_are_refused(run, room):
    out = room.folder / "parts"
    run(*room.words("split", "--parts", 2, "--needed", 2, "--out", out))
    (out / "part-2-of-2.txt").chmod(0o644)
    answer = run(
        "vault", "join", room.where, *sorted(out.iterdir()), "--key-file", room.key, "--json"
    )

    assert answer.status == 1
    assert "Part number 2" in answer.json["error"]


def test_destroy(run, room):
    """One name, then all; nobody is asked where --yes is said."""
    assert run(*room.words("destroy", "plan", "--yes")).status == 0
    assert Vault.open(room.where, lock=room.lock).names() == ("customers",)
    assert run(*room.words("destroy", "--yes", "--json")).json["ok"]
    assert not room.where.exists()


@pytest.mark.slow
def test_destroy_asks(start, run, room):
    """Without --yes and without a terminal, nothing is destroyed."""
    answer = start(*room.words("destroy", "--json"))

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert run(*room.words("list")).status == 0


@pytest.mark.parametrize("said", [True, False])
def test_destroy_does_as_told(run, room, monkeypatch, said):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: said)
    answer = run(*room.words("destroy"))

    assert answer.status == (0 if said else 130)  # as if it were interrupted
    assert room.where.exists() != said


@pytest.mark.slow
def test_a_passphrase_from_a_private_file(run, tmp_path, monkeypatch):
    """Not from one that others may read; and it is never repeated."""
    _make_cheap(monkeypatch)
    file, where = tmp_path / "words", tmp_path / "vault"
    file.write_text(WORDS + "\n")
    file.chmod(0o644)
    words = ["vault", "create", where, "--passphrase-file", file, "--json"]
    answer = run(*words)
    assert answer.status == 1
    assert "0644" in answer.json["error"]
    file.chmod(0o600)

    assert run(*words).json["lock"] == "passphrase"
    assert Vault.open(where, lock=Passphrase(WORDS)).names() == ()
    file.write_text("CANARY which is another one")
    for answer in (
        run("vault", "list", where, "--passphrase-file", file),
        run("vault", "list", where, "--passphrase-file", tmp_path / "CANARY"),
    ):
        assert answer.status == 1
        assert "CANARY" not in answer.out + answer.err
    file.write_bytes(b"\xff" * 20)
    assert (
        run("vault", "list", where, "--passphrase-file", file, "--json").json["code"] == "parameter"
    )


@pytest.mark.slow
def test_a_passphrase_from_standard_input(start, tmp_path):
    where = tmp_path / "vault"
    said = start("vault", "create", where, "--passphrase-file", "-", "--json", stdin=WORDS.encode())

    assert said.json["lock"] == "passphrase"


@pytest.mark.slow
def test_a_passphrase_that_is_asked_for(run, tmp_path, monkeypatch):
    """Twice where it is new, hidden, on standard error."""
    _make_cheap(monkeypatch)
    asked = []

    def prompt(_, **options):
        asked.append(options)
        return WORDS

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", prompt)
    assert run("vault", "create", tmp_path / "vault").status == 0
    assert run("vault", "list", tmp_path / "vault").status == 0
    assert [it["confirmation_prompt"] for it in asked] == [True, False]
    assert all(it["hide_input"] and it["err"] for it in asked)


@pytest.mark.slow
def test_nobody_to_ask(start, tmp_path):
    """Without a terminal the command doesn't wait."""
    answer = start("vault", "create", tmp_path / "vault", "--json")

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert not (tmp_path / "vault").exists()


def test_without_a_keyring(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    answer = run("vault", "create", tmp_path / "vault", "--keyring", "--json")

    assert answer.json["code"] == "missing-dependency"
    assert list(tmp_path.iterdir()) == []


MISUSES = {
    "two locks": ["create", "CANARY", "--key-file", "CANARY", "--keyring"],
    "two new locks": ["rotate", "CANARY", "--new-keyring", "--new-passphrase"],
    "no parts": ["join", "CANARY"],
    "no counts": ["split", "CANARY"],
    "parts inside": ["split", "CANARY", "--parts=2", "--needed=2", "--out=CANARY/parts"],
    "no such command": ["CANARY"],
    "nothing": ["create"],
}


@pytest.mark.parametrize("words", MISUSES.values(), ids=MISUSES)
def test_wrong_usage(run, words):
    answer = run("vault", *words, "--json")

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert "CANARY" not in answer.out + answer.err


def test_alone_it_helps(run):
    answer = run("vault")

    assert answer.status == 2
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z].*[a-z]\.$", answer.out, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_option_and_loads_nothing_heavy(start, command):
    code = (
        "import sys; from halfmask.cli import main; main();"
        "sys.stderr.write('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    )
    answer = start("vault", command, "--help", code=code)

    assert f"Usage: halfmask vault {command} [OPTIONS]" in answer.out
    for block in re.split(r"\n  (?=-)", answer.out)[1:]:
        _, *rest = re.split(r"\s{2,}", block, maxsplit=1)
        assert rest
    loaded = set(answer.err.split())
    assert "typer" in loaded
    assert not loaded & {"cryptography", "polars", "pyarrow", "numpy", "numba", "sklearn"}


def test_what_goes_wrong_is_named_by_kind_alone(run, room):
    """Damage, an absent vault, wide modes: codes for programs, and no path in any."""
    cases = {}
    (index,) = room.where.rglob("index")
    text = index.read_bytes()
    index.write_bytes(text[:-1] + bytes([text[-1] ^ 1]))
    cases["integrity"] = run(*room.words("list", "--json"))
    index.write_bytes(text)
    room.where.chmod(0o755)
    cases["vault"] = run(*room.words("list", "--json"))
    room.where.chmod(0o700)
    room.key.unlink()
    KeyFile.create(room.key)
    cases["key-mismatch"] = run(*room.words("list", "--json"))
    for code, answer in cases.items():
        assert (answer.status, answer.json["code"]) == (1, code)
        assert "CANARY" not in answer.out + answer.err


def _make_cheap(monkeypatch):
    """Guessing costs the least that is allowed: tests needn't wait."""
    monkeypatch.setitem(Passphrase.__init__.__kwdefaults__, "memory_mib", 64)
