"""``halfmask serve``: tokens are made, listed and revoked; what isn't a command is the folder."""

from __future__ import annotations

import json
import re
import socket

import pytest

from halfmask.cli import main
from halfmask.trainer import service

TOKEN = re.compile(r"hmt_[0-9a-f]{16}_[0-9a-f]{64}\n")
WHO = ("--client", "anna", "--tenant", "acme", "--scope", "read", "--scope", "learn")


def answer(capsys, *words):
    status = main([*map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_token_is_shown_once_and_then_only_listed(tmp_path, capsys):
    folder = tmp_path / "t"
    assert main(["serve", "token", "create", str(folder), *WHO]) == 0
    text = capsys.readouterr().out
    assert TOKEN.fullmatch(text)

    assert main(["serve", "token", "list", str(folder)]) == 0
    listed = capsys.readouterr().out
    assert text.strip() not in listed
    assert text.split("_")[1] in listed
    assert "learn read" in listed
    assert "in use" in listed


def test_a_token_in_a_file_is_its_owners_alone(tmp_path, capsys):
    out = tmp_path / "token"
    status, told = answer(capsys, "serve", "token", "create", tmp_path / "t", *WHO, "--out", out)

    assert status == 0
    assert "token" not in told
    assert out.stat().st_mode & 0o777 == 0o600
    assert TOKEN.fullmatch(out.read_text(encoding="ascii"))
    assert told["scopes"] == ["learn", "read"]


def test_a_token_is_revoked(tmp_path, capsys):
    _, made = answer(capsys, "serve", "token", "create", tmp_path / "t", *WHO, "--days", "2")
    assert made["expires"] == pytest.approx(made["created"] + 2 * 86_400)

    assert main(["serve", "token", "revoke", str(tmp_path / "t"), made["id"]]) == 0
    capsys.readouterr()
    _, listed = answer(capsys, "serve", "token", "list", tmp_path / "t")

    assert [each["revoked"] for each in listed["tokens"]] == [True]


@pytest.mark.parametrize("identity", ["0" * 16, "CANARY", ""])
def test_a_token_that_isnt_there_cant_be_revoked(tmp_path, capsys, identity):
    answer(capsys, "serve", "token", "create", tmp_path / "t", *WHO)

    status, told = answer(capsys, "serve", "token", "revoke", tmp_path / "t", identity)

    assert (status, told["code"]) == (1, "trainer")
    assert "CANARY" not in json.dumps(told)


@pytest.mark.parametrize(
    "wrong", [("--scope", "root"), ("--tenant", "a b"), ("--rows-per-second", "0")]
)
def test_what_no_token_can_be_is_refused(tmp_path, capsys, wrong):
    status, told = answer(capsys, "serve", "token", "create", tmp_path / "t", *WHO, *wrong)

    assert (status, told["code"]) == (1, "parameter")


def test_tokens_of_a_folder_that_isnt_there_or_is_something_else(tmp_path, capsys):
    (tmp_path / "CANARY").mkdir()
    (tmp_path / "CANARY" / "file").touch()

    for words in (("list", "none"), ("list", "CANARY"), ("create", "CANARY", *WHO)):
        place = tmp_path / words[1]
        status, told = answer(capsys, "serve", "token", words[0], place, *words[2:])
        assert (status, told["code"]) == (1, "trainer")
        assert "CANARY" not in json.dumps(told)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("words", [("serve",), ("serve", "run")])
def test_the_folder_may_stand_with_and_without_run(tmp_path, capsys, monkeypatch, words):
    given = []

    def serve(folder, **more):
        given.append((folder, more))
        more["started"](4_711)

    monkeypatch.setattr(service, "serve", serve)

    status, told = answer(capsys, *words, tmp_path / "t", "--keep-log", "--body-mib", "2")

    assert status == 0
    assert told == {"ok": True, "address": "http://127.0.0.1:4711", "port": 4_711}
    (folder, more), limits = given[0], given[0][1]["options"].limits
    assert (folder, more["host"], more["port"]) == (str(tmp_path / "t"), "127.0.0.1", 8_765)
    assert (limits.keep_log, limits.body_bytes) == (True, 2 << 20)


def test_a_backlog_that_holds_no_body_is_refused(tmp_path, capsys):
    status, told = answer(capsys, "serve", tmp_path / "t", "--backlog-mib", "1")

    assert (status, told["code"]) == (1, "parameter")
    assert not (tmp_path / "t").exists()


def test_without_words_the_help_is_shown(capsys):
    assert main(["serve"]) == 2
    assert "token" in capsys.readouterr().out
    assert main(["serve", "token"]) == 2
    assert "revoke" in capsys.readouterr().out


@pytest.mark.slow
def test_a_port_that_is_taken_is_named(tmp_path, capsys):
    """Whoever starts a second service reads which port it was."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        status = main(["serve", str(tmp_path / "trainer"), "--port", str(port)])

    said = capsys.readouterr().err
    assert status == 1
    assert f"can't listen on port {port} of 127.0.0.1" in said
    assert "0 is one that is free" in said
