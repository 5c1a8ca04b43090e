"""The vault: what goes in comes out, under its lock and for its context, or an error does."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask._errors import IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.vault import KeyFile, Secret, Vault
from halfmask.vault._generation import LOCK_FILE, sole_writer

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=200)


def test_secrets_stay(vault, where, lock):
    """A secret is made when it is first asked for, and is the same ever after."""
    first = vault.secret("orders")

    assert isinstance(first, Secret)
    assert vault.secret("orders") == first
    assert Vault.open(where, lock=lock).secret("orders", create=False) == first
    assert vault.secret("customers") != first
    with pytest.raises(VaultError, match="no secret"):
        vault.secret("CANARY", create=False)
    assert vault.names() == ("customers", "orders", "plan")


def test_what_is_sealed_comes_back(vault, where, lock):
    assert vault.unseal("plan", context="CANARY-context") == b"CANARY-plan"
    assert Vault.open(where, lock=lock).unseal("plan", context="CANARY-context") == b"CANARY-plan"


@pytest.mark.parametrize("context", ["", "canary-context", "CANARY-context ", "of another table"])
def test_another_datasets_context_is_an_error(vault, context):
    with pytest.raises(KeyMismatchError, match="another context") as caught:
        vault.unseal("plan", context=context)
    assert "CANARY" not in str(caught.value)


def test_names_are_taken_once(vault):
    """Nothing is lost by sealing under a name twice, and a secret is never replaced."""
    with pytest.raises(VaultError, match="taken"):
        vault.seal("plan", b"new", context="CANARY-context")
    with pytest.raises(VaultError, match="taken"):
        vault.seal("customers", b"new", context="", overwrite=True)
    assert vault.unseal("plan", context="CANARY-context") == b"CANARY-plan"
    vault.seal("plan", b"new", context="other", overwrite=True)
    assert vault.unseal("plan", context="other") == b"new"


def test_kinds_are_told_apart(vault):
    with pytest.raises(VaultError, match="a secret"):
        vault.unseal("customers", context="")
    with pytest.raises(VaultError, match="sealed bytes"):
        vault.secret("plan")
    with pytest.raises(VaultError, match="Nothing"):
        vault.unseal("absent", context="")


def test_what_it_lists(vault):
    """Entries say name, kind, context and size, and no byte of what is sealed."""
    secret, plan = vault.entries()

    assert (secret.name, secret.kind, secret.size) == ("customers", "secret", 32)
    assert (plan.name, plan.kind, plan.size, plan.context) == (
        "plan",
        "sealed",
        11,
        "CANARY-context",
    )
    assert vault.lock_kind == "key-file"


@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(NAMES, st.binary(max_size=500), st.text(st.characters(codec="utf-8"), max_size=50))
def test_any_name_bytes_and_context(vault, where, lock, name, data, context):
    if name == "customers":
        return
    vault.seal(name, data, context=context, overwrite=True)

    assert Vault.open(where, lock=lock).unseal(name, context=context) == data


@pytest.mark.parametrize("name", ["", "x" * 201, "\ud800", None, b"x"])
def test_names_that_cant_be(vault, name):
    for work in (
        lambda: vault.secret(name),
        lambda: vault.seal(name, b"", context=""),
    ):
        with pytest.raises(ParameterError):
            work()


def test_what_cant_be_sealed(vault):
    for data in (5, "text", bytearray(3), None):
        with pytest.raises(ParameterError, match="Only bytes"):
            vault.seal("new", data, context="")
    with pytest.raises(ParameterError):
        vault.seal("new", b"", context="\ud800")
    assert vault.names() == ("customers", "plan")


class TestRotation:
    def test_keeps_what_it_holds(self, vault, where, lock):
        """Secrets stay, so that what they encoded is still decoded."""
        secret = vault.secret("customers")
        vault.rotate()

        for each in (vault, Vault.open(where, lock=lock)):
            assert each.secret("customers", create=False) == secret
            assert each.unseal("plan", context="CANARY-context") == b"CANARY-plan"

    def test_seals_everything_anew(self, vault, where, files):
        """No byte of the old root key's opens anything: no file of a generation stays."""
        before, root, vault_id = files(where), vault._opened.root_key, vault.id
        vault.rotate()
        after = files(where)

        assert set(before) & set(after) == {"current", LOCK_FILE}
        assert not {text for text in before.values() if text} & set(after.values())
        assert vault._opened.root_key != root
        assert vault.id == vault_id
        with pytest.raises(KeyMismatchError):
            vault._opened.header.check_root(root)

    def test_to_another_lock_revokes_the_one_before(self, vault, where, lock, tmp_path):
        new = KeyFile.create(tmp_path / "new key")
        vault.rewrap(new)

        with pytest.raises(KeyMismatchError):
            Vault.open(where, lock=lock)
        assert Vault.open(where, lock=new).names() == ("customers", "plan")
        vault.rotate()
        assert Vault.open(where, lock=new).names() == ("customers", "plan")

    def test_is_followed_by_who_has_it_open(self, vault, where, lock, tmp_path):
        """By the same lock silently; by another with an error, not with stale secrets."""
        other = Vault.open(where, lock=lock)
        vault.rotate()
        assert other.unseal("plan", context="CANARY-context") == b"CANARY-plan"
        other.secret("new")
        assert vault.names() == ("customers", "new", "plan")
        vault.rewrap(KeyFile.create(tmp_path / "new key"))
        with pytest.raises(KeyMismatchError):
            other.names()

    def test_that_fails_leaves_the_old(self, vault, where, lock, monkeypatch, files):
        before = files(where)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", _refusing(errno.ENOSPC))
            with pytest.raises(VaultError, match="No space"):
                vault.rotate()

        assert files(where) == before
        assert Vault.open(where, lock=lock).names() == ("customers", "plan")


class TestParts:
    def test_enough_open_it(self, vault, where):
        parts = vault.split(parts=5, needed=3)

        joined = Vault.join(where, [parts[4], parts[0], parts[2]])
        assert joined.secret("customers") == vault.secret("customers")
        assert Vault.join(where, parts).names() == vault.names()
        assert joined.id == vault.id

    def test_a_joined_vault_gets_a_new_lock(self, vault, where, lock, tmp_path):
        secret = vault.secret("customers")
        parts = vault.split(parts=2, needed=2)
        joined = Vault.join(where, parts)
        with pytest.raises(VaultError, match="no lock"):
            joined.rotate()
        joined.rewrap(new := KeyFile.create(tmp_path / "new key"))

        assert Vault.open(where, lock=new).secret("customers") == secret
        with pytest.raises(KeyMismatchError):
            Vault.open(where, lock=lock)
        with pytest.raises(KeyMismatchError, match="root key"):
            Vault.join(where, parts)

    def test_a_joined_vault_that_is_rotated_by_another(self, vault, where):
        joined = Vault.join(where, vault.split(parts=2, needed=2))
        vault.rotate()
        with pytest.raises(VaultError, match="rotated"):
            joined.names()

    def test_of_another_vault_are_refused(self, vault, tmp_path, lock):
        Vault.create(tmp_path / "other", lock=lock)
        with pytest.raises(KeyMismatchError, match="Part 1 of 3 is of another vault"):
            Vault.join(tmp_path / "other", vault.split(parts=3, needed=2))

    def test_find_a_header_that_was_altered(self, vault, where, header_of):
        """Parts open without the lock's key, to which the header is bound: so is the index."""
        parts = vault.split(parts=2, needed=2)
        said, write = header_of(where)
        write({**said, "lock": "keyring"})
        with pytest.raises(KeyMismatchError):
            Vault.join(where, parts)
        write(said)
        assert Vault.join(where, parts).names()

    @pytest.mark.parametrize("counts", [(1, 1), (3, 1), (2, 3), (256, 2), (0, 0), (3, 2.5)])
    def test_counts_that_cant_be(self, vault, counts):
        with pytest.raises(ParameterError):
            vault.split(parts=counts[0], needed=counts[1])


class TestDestruction:
    def test_of_one(self, vault, where, lock, files):
        sealed = set(files(where))
        vault.destroy("plan")

        assert vault.names() == Vault.open(where, lock=lock).names() == ("customers",)
        assert len(sealed - set(files(where))) == 1
        with pytest.raises(VaultError, match="nothing"):
            vault.destroy("CANARY")

    def test_of_all(self, vault, where, lock):
        vault.destroy()

        assert not where.exists()
        for work in (vault.names, lambda: vault.secret("x"), vault.rotate):
            with pytest.raises(VaultError):
                work()
        with pytest.raises(VaultError, match="not there"):
            Vault.open(where, lock=lock)

    def test_leaves_what_isnt_ours(self, vault, where):
        (where / "thesis.txt").write_text("years")
        vault.destroy()
        assert [path.name for path in where.iterdir()] == ["thesis.txt"]

    def test_overwrites_the_wrapped_key_first(self, vault, monkeypatch):
        """Best effort: where the disk writes in place, the old bytes are gone."""
        header = vault._opened.folder / "header"
        before, seen = header.read_bytes(), []
        monkeypatch.setattr(
            "halfmask.vault._vault.shutil.rmtree", lambda _: seen.append(header.read_bytes())
        )
        with contextlib.suppress(VaultError):
            vault.destroy()
        assert len(seen[0]) == len(before)
        assert before[:64] not in seen[0]


class TestPlaces:
    def test_modes(self, vault, where, modes):
        """Folders 0700 and files 0600, whatever the umask."""
        before = os.umask(0)
        try:
            vault.rotate()
            vault.secret("another")
        finally:
            os.umask(before)
        assert modes(where) == ({0o700}, {0o600})

    @pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o770, 0o777])
    def test_a_folder_that_others_may_enter(self, where, lock, mode):
        where.chmod(mode)
        with pytest.raises(VaultError, match=f"{mode:04o}"):
            Vault.open(where, lock=lock)

    def test_a_file_that_others_may_read(self, vault, where, lock):
        """Any file of it, from the pointer to the sealed bytes; also while it is open."""
        for path in sorted(where.rglob("*")):
            if path.is_file() and path.name != LOCK_FILE:
                path.chmod(0o640)
                with pytest.raises(VaultError, match="0640"):
                    _read_all(Vault.open(where, lock=lock))
                if path.name != "header":  # which is read once
                    with pytest.raises(VaultError, match="0640"):
                        _read_all(vault)
                path.chmod(0o600)
        assert _read_all(vault)

    def test_links(self, vault, where, lock, tmp_path):
        """A link in the place of the vault or of any file of it is refused."""
        (tmp_path / "link").symlink_to(where)
        with pytest.raises(VaultError, match="link"):
            Vault.open(tmp_path / "link", lock=lock)
        for path in sorted(where.rglob("*")):
            aside = tmp_path / "aside"
            path.rename(aside)
            path.symlink_to(aside)
            with pytest.raises(VaultError):
                _read_and_write(where, lock)
            path.unlink()
            aside.rename(path)
        assert _read_all(vault)

    @pytest.mark.parametrize("kind", ["folder", "file", "link", "vault", "absent/deeper"])
    def test_what_is_there_stays(self, tmp_path, lock, kind):
        place = tmp_path / kind
        if kind == "folder":
            place.mkdir(mode=0o700)
            (place / "0123456789abcdef").mkdir()
            (place / "0123456789abcdef" / "thesis").write_text("years")
        if kind == "file":
            place.write_text("mine")
        if kind == "link":
            place.symlink_to(tmp_path / "nowhere")
        if kind == "vault":
            Vault.create(place, lock=lock)
        before = sorted(path for path in tmp_path.rglob("*"))
        with pytest.raises(VaultError) as caught:
            Vault.create(place, lock=lock)
        assert str(tmp_path) not in str(caught.value)
        assert sorted(path for path in tmp_path.rglob("*") if path.name != LOCK_FILE) == [
            path for path in before if path.name != LOCK_FILE
        ]

    def test_an_empty_folder_will_do_if_it_is_private(self, tmp_path, lock):
        (tmp_path / "open").mkdir(mode=0o755)
        (tmp_path / "private").mkdir(mode=0o700)
        with pytest.raises(VaultError, match="0755"):
            Vault.create(tmp_path / "open", lock=lock)
        assert Vault.create(tmp_path / "private", lock=lock).names() == ()

    def test_a_folder_that_was_there_stays_where_making_fails(self, tmp_path, lock, monkeypatch):
        (tmp_path / "private").mkdir(mode=0o700)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", _refusing(errno.ENOSPC))
            for name in ("private", "new"):
                with pytest.raises(VaultError, match="No space"):
                    Vault.create(tmp_path / name, lock=lock)
        assert (tmp_path / "private").is_dir()
        assert not (tmp_path / "new").exists()
        assert Vault.create(tmp_path / "private", lock=lock).names() == ()

    @pytest.mark.parametrize("name", ["Übergabe 2026, \u202ex", "with space", "x" * 200])
    def test_odd_names(self, tmp_path, lock, name):
        Vault.create(tmp_path / name, lock=lock).secret("a")
        assert Vault.open(tmp_path / name, lock=lock).names() == ("a",)

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
    @pytest.mark.parametrize("step", ["write", "fsync", "replace"])
    def test_the_system_refuses(self, vault, where, lock, monkeypatch, files, step, number):
        """The error names no path, and what it held, it holds."""
        before = files(where)
        owner = os if step != "replace" else type(where)
        for work in (
            lambda: vault.secret("new"),
            lambda: vault.seal("new", b"CANARY", context=""),
            vault.rotate,
        ):
            with monkeypatch.context() as patch:
                patch.setattr(owner, step, _refusing(number))
                with pytest.raises(VaultError) as caught:
                    work()
            assert str(where) not in str(caught.value)
            assert "CANARY" not in str(caught.value)
        assert Vault.open(where, lock=lock).names() == ("customers", "plan")
        vault.destroy("plan")
        assert len(files(where)) == len(before) - 1, "leftovers are swept by the next writer"


class TestTampering:
    @pytest.mark.slow
    def test_every_byte_of_every_file_counts(self, where, lock):
        """A flipped byte anywhere is an error before any output; the key file is right."""
        for path in sorted(where.rglob("*")):
            if path.is_dir() or path.name == LOCK_FILE:
                continue
            text = path.read_bytes()
            for place in range(len(text)):
                altered = bytearray(text)
                altered[place] ^= 1 << place % 8
                path.write_bytes(bytes(altered))
                with pytest.raises(VaultError) as caught:
                    _read_all(Vault.open(where, lock=lock))
                assert not isinstance(caught.value, KeyMismatchError)
            path.write_bytes(text[:-1])
            with pytest.raises(IntegrityError):
                _read_all(Vault.open(where, lock=lock))
            path.write_bytes(text)
        assert _read_all(Vault.open(where, lock=lock))

    def test_swapped_files(self, vault, where):
        """Two sealed files that change places are found, though each is whole."""
        one, other = sorted(where.rglob("*.sealed"))
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
        for name in ("customers", "plan"):
            with pytest.raises(IntegrityError):
                vault._reading(lambda opened, name=name: opened.read(opened.index().entries[name]))

    def test_a_missing_file(self, vault, where):
        for path in where.rglob("*.sealed"):
            path.unlink()
        with pytest.raises(IntegrityError, match="missing"):
            vault.unseal("plan", context="CANARY-context")

    def test_a_file_of_before(self, vault, where):
        """Putting back what was overwritten is found: the index knows the file's digest."""
        (path,) = (vault._opened.folder / it.file for it in vault.entries() if it.name == "plan")
        old = path.read_bytes()
        vault.seal("plan", b"new", context="c", overwrite=True)
        (path,) = (vault._opened.folder / it.file for it in vault.entries() if it.name == "plan")
        path.write_bytes(old)
        with pytest.raises(IntegrityError):
            vault.unseal("plan", context="c")
        assert where.exists()

    def test_what_nobody_sealed_is_not_there(self, vault, where):
        (next(where.glob("????????????????")) / "0123456789abcdef.sealed").write_bytes(b"x")
        assert vault.names() == ("customers", "plan")

    def test_the_index_of_another_vault(self, vault, where, tmp_path, lock):
        """With the same key file, even."""
        Vault.create(tmp_path / "other", lock=lock).secret("customers")
        (mine,), (theirs,) = (list(it.rglob("index")) for it in (where, tmp_path / "other"))
        shutil.copyfile(theirs, mine)
        with pytest.raises(KeyMismatchError):
            vault.names()

    def test_the_generation_of_another_vault(self, where, tmp_path, lock):
        Vault.create(tmp_path / "other", lock=lock)
        shutil.copyfile(tmp_path / "other" / "current", where / "current")
        with pytest.raises(VaultError):
            Vault.open(where, lock=lock)

    @pytest.mark.parametrize(
        "changed",
        [
            {"root": "00" * 32},
            {"vault": "0" * 16},
            {"generation": "../../elsewhere"},
            {"lock": "keyring"},
            {"lock": "none"},
            {"lock": ["key-file"]},
            {"format": "halfmask-vault/2"},
            {"wrapped": "zz"},
            {"parameters": {}},
            {"parameters": 3},
            {"more": 1},
        ],
    )
    def test_a_header_altered_on_purpose(self, where, lock, header_of, changed):
        """With its checksum mended: each word is bound to the wrapped key."""
        said, write = header_of(where)
        write({**said, **changed})
        with pytest.raises(VaultError):
            Vault.open(where, lock=lock)
        write(said)
        assert Vault.open(where, lock=lock).names()


class TestWriters:
    def test_the_second_fails_at_once(self, vault, where, lock):
        """And says who writes; reading goes on."""
        other = Vault.open(where, lock=lock)
        with sole_writer(where):
            for work in (lambda: other.secret("new"), other.rotate, other.destroy):
                with pytest.raises(VaultError, match=f"pid {os.getpid()}"):
                    work()
            assert other.names() == ("customers", "plan")
            assert vault.secret("customers") == other.secret("customers")
        other.secret("new")

    def test_a_stale_lock_is_in_nobodys_way(self, vault, where):
        (where / LOCK_FILE).write_text("999999999")
        vault.secret("new")
        assert "new" in vault.names()

    def test_a_file_system_without_locks(self, vault, monkeypatch):
        monkeypatch.setattr("fcntl.flock", _refusing(errno.ENOLCK))
        with pytest.raises(VaultError, match="no locks"):
            vault.secret("new")
        assert vault.names() == ("customers", "plan")

    def test_two_that_ask_for_one_secret_get_one(self, vault, where, lock, monkeypatch):
        """Another process makes it between our looking and our writing."""
        other = Vault.open(where, lock=lock)
        theirs: list[bytes] = []
        make = Vault._new_secret

        def later(self, name):
            if not theirs:
                theirs.append(make(other, name))
            return make(self, name)

        monkeypatch.setattr(Vault, "_new_secret", later)
        assert vault.secret("race") == Secret.from_bytes(theirs[0])


def test_nothing_shows(vault):
    """No repr, message or pickle holds a secret, a name or a path."""
    assert repr(vault) == f"Vault(id='{vault.id}')"
    root = vault._opened.root_key
    for said in (repr(vault._opened), repr(vault._opened.header), repr(vault.entries())):
        assert str(vault._folder) not in said
        assert repr(root) not in said
        assert root.hex() not in said
    with pytest.raises(TypeError):
        pickle.dumps(vault)


def test_no_byte_of_a_secret_in_any_file(vault, where, lock, files, tmp_path):
    """Nor a name or a context: raw, as hexadecimal digits, or in base 64."""
    import base64  # noqa: PLC0415 # only here

    vault.seal("CANARY-name", b"CANARY" * 50, context="CANARY")
    header = vault._opened.header
    secret = vault.secret("customers")
    parts = vault.split(parts=3, needed=2)
    secrets = [
        vault._opened.root_key,
        secret._bytes,
        secret.key("names"),
        lock.key(header.parameters),
        b"CANARY",
        b"customers",
    ]
    texts = files(where)
    vault.rotate()
    texts |= files(where)
    for text in texts.values():
        for each in secrets:
            for form in (each, each.hex().encode(), base64.b64encode(each)[:-3]):
                assert form not in text
        for part in parts:
            assert part.split()[-2] not in text
    assert len(list(tmp_path.iterdir())) == 2, "nothing was written beside the vault"


def _read_all(vault):
    return vault.secret("customers", create=False), vault.unseal("plan", context="CANARY-context")


def _read_and_write(where, lock):
    opened = Vault.open(where, lock=lock)
    _read_all(opened)
    opened.secret("new")


def _refusing(number):
    def refuse(*_args, **_named):
        raise OSError(number, os.strerror(number), "CANARY")

    return refuse
