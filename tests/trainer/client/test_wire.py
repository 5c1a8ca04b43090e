"""Nothing of a table goes over the line: not a name, a category, a value, a key, and one token."""

from __future__ import annotations

import base64
import http.client
import secrets

import numpy as np
import polars as pl
import pytest

from halfmask.cli import main
from halfmask.cli._stored import unseal_hasher
from halfmask.hashing._slots import HasherKeys
from halfmask.trainer.client import TrainerClient
from halfmask.vault import KeyFile, Vault
from trainer.client.wire import tapped  # type: ignore[import-not-found] # beside, not in a package


def _canary():
    return "canary" + secrets.token_hex(12)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A table whose every cell is a canary, in a folder that is one; and what it holds."""
    folder = tmp_path_factory.mktemp(_canary())
    names = {each: _canary() for each in ("town", "pay", "id", "text", "label")}
    towns, labels = [_canary() for _ in range(5)], [_canary(), _canary()]
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            names["town"]: rng.choice(towns, 600),
            names["pay"]: rng.normal(12_345.678, 1_000, 600),
            names["id"]: rng.integers(10**11, 10**12, 600),
            names["text"]: [f"{towns[i % 5]} {_canary()}" for i in range(600)],
            names["label"]: rng.choice(labels, 600),
        }
    )
    rows.write_parquet(folder / "people.parquet")
    texts = [*names.values(), *towns, *labels, folder.name]
    texts += [word for cell in rows[names["text"]] for word in cell.split()]
    values = [*rows[names["pay"]].to_list(), *rows[names["id"]].to_list()]
    return folder, names, texts, values


@pytest.fixture(scope="module")
def spoken(planted, trainer):
    """Push and predict over a tapped line; return all that went over it, and the token."""
    folder, names, _, _ = planted
    vault = (f"--vault={folder / 'vault'}", f"--key-file={folder / 'key'}")
    table, token_file = folder / "people.parquet", trainer.token_file()
    token = token_file.read_text(encoding="ascii").strip()
    with TrainerClient(trainer.url, token=token) as client:
        client.create("wire", loss="logistic", bits=18)
    with tapped(trainer.url) as wire:
        there = (f"--url={wire.url}", "--model=wire", f"--token-file={token_file}")
        for words in (
            ("vault", "create", folder / "vault", f"--key-file={folder / 'key'}"),
            (
                "hash", table, folder / "sent.arrows", *vault, "--hasher=h", "--fit",
                f"--label={names['label']}", f"--text={names['text']}", "--bits=18",
            ),
            ("push", folder / "sent.arrows", *there, "--batch-rows=100"),
            ("push", table, *there, *vault, "--hasher=h", "--batch-rows=100"),
            ("predict", table, folder / "answers.csv", *there, *vault, "--hasher=h"),
        ):  # fmt: skip
            assert main([str(word) for word in words]) == 0
        yield wire.bytes, token, folder


def _forms(text):
    """Return how a text may stand in bytes."""
    plain = text.encode()
    return [
        plain, text.encode("utf-16-le"), plain.hex().encode(), plain.hex().upper().encode(),
        *(base64.b64encode(b"\0" * shift + plain)[4:-4] for shift in range(3)),
    ]  # fmt: skip


def _leaks(data, texts, values):
    found = sum(any(form in data for form in _forms(text)) for text in texts)
    for value in values:
        kind = "<f8" if isinstance(value, float) else "<i8"
        found += np.array(value, kind).tobytes() in data or repr(value).encode() in data
    return found


@pytest.mark.slow
def test_no_canary_goes_over_the_line(spoken, planted):
    data, _, folder = spoken
    _, _, texts, values = planted

    assert data.count(b"POST /v1/models/wire/examples") == 6 + 6
    assert data.count(b"POST /v1/models/wire/predict") == 1
    assert _leaks(data, texts, values) == 0
    assert pl.read_csv(folder / "answers.csv").height == 600


def test_no_key_goes_over_the_line(spoken, planted):
    """Neither the secret, nor a key of a column, nor anything that the vault's files hold."""
    data, _, folder = spoken
    _, names, _, _ = planted
    vault = Vault.open(folder / "vault", lock=KeyFile(folder / "key"))
    secret = unseal_hasher(vault, "h").plan.secret
    keys = HasherKeys(secret=secret, name="hasher")
    known = [secret._bytes, (folder / "key").read_bytes(), vault.id.encode(), secret.id.encode()]
    purposes = ("category", "bin", "number", "missing", "word", "character", "set")
    pairs = [(purpose, name) for purpose in purposes for name in names.values()]
    known += [np.asarray(keys.of(*each)).tobytes() for each in pairs]
    known += [np.asarray(keys.of(purpose)).tobytes() for purpose in ("order", "label")]
    known += [line.strip() for line in (folder / "key").read_bytes().split() if len(line) > 15]

    for key in known:
        assert len(key) >= 8
        assert key not in data
        assert key.hex().encode() not in data
        assert base64.b64encode(key)[:-4] not in data


@pytest.mark.slow
def test_the_token_stands_in_its_header_alone(spoken):
    data, token, _ = spoken
    header = f"authorization: bearer {token}\r\n".encode()

    assert data.lower().count(header) == data.count(b"POST ") + data.count(b"GET ")
    assert token.encode() not in data.lower().replace(header, b"")
    assert token.partition("_")[2].encode() not in data.lower().replace(header, b"")


def test_the_same_rows_have_the_same_keys_and_bytes(spoken):
    """What was hashed before and what is hashed on the way are one stream to the service."""
    data, _, _ = spoken
    keys = [line for line in data.lower().split(b"\r\n") if line.startswith(b"idempotency-key")]

    assert len(keys) == 12
    assert len(set(keys)) == 6


def test_the_search_sees_what_a_careless_client_sends(planted, trainer):
    folder, _, texts, values = planted
    rows = pl.read_parquet(folder / "people.parquet")

    with tapped(trainer.url) as wire:
        line = http.client.HTTPConnection(wire.url.removeprefix("http://"), timeout=20)
        line.request("POST", "/v1/models/wire/examples", rows.write_json().encode())
        assert line.getresponse().status == 401
        line.close()

    # A service that knows no token may hang up before it has read everything.
    assert _leaks(wire.bytes, texts, values) > 50
