"""What is sent again and what isn't; what a refusal says and doesn't; nothing else is asked."""

from __future__ import annotations

import json

import pytest

from halfmask import ParameterError, TrainerError
from halfmask.trainer.client import RetryPolicy, TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    QUICK,
    TOKEN,
    answers,
    hangs_up,
    rows_of,
    says,
)


class TestARefusal:
    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (400, "doesn't understand"), (401, "doesn't know the token"), (403, "doesn't allow"),
            (404, "no such model"), (413, "larger than"), (415, "kind of request"),
            (422, "doesn't accept"), (507, "disk of the service is full"), (418, "didn't do it"),
        ],
    )  # fmt: skip
    def test_is_told_once_and_not_tried_again(self, service, client, status, words):
        service.mishaps[:] = [says(status, "for this reason.")]

        with pytest.raises(TrainerError, match=words) as caught:
            client.push("m", [rows_of(3)])

        assert caught.value.what.endswith(f"({status}). Its message: for this reason.")
        assert caught.value.status == status
        assert len(service.seen) == 1

    def test_never_shows_the_token_though_the_service_does(self, service, client):
        service.mishaps[:] = [says(401, f"There is no token {TOKEN}.")]

        with pytest.raises(TrainerError) as caught:
            client.push("m", [rows_of(3)])

        assert TOKEN not in f"{caught.value} {caught.value!r} {client!r}"

    def test_can_t_steer_the_terminal_nor_fill_it(self, service, client):
        service.mishaps[:] = [says(400, "\x1b[2J" + "x" * 10_000)]

        with pytest.raises(TrainerError) as caught:
            client.push("m", [rows_of(3)])

        assert "\x1b" not in str(caught.value)
        assert len(str(caught.value)) < 500

    @pytest.mark.parametrize(
        "body",
        [b"", b"<html>", b"[1]", b'{"error": 3}', b"\xff\xfe", b"[" * 100_000],
        ids=["none", "page", "list", "number", "no text", "deep"],
    )
    def test_in_no_words_of_ours_is_told_by_its_status(self, service, client, body):
        service.mishaps[:] = [lambda handler: handler.respond(500, body)]

        with pytest.raises(TrainerError, match=r"didn't do it \(500\)\.$"):
            client.push("m", [rows_of(3)])

    def test_by_sending_elsewhere_isn_t_followed(self, service, client):
        service.mishaps[:] = [says(307, Location=f"{service.url}/elsewhere")]

        with pytest.raises(TrainerError, match="307"):
            client.push("m", [rows_of(3)])

        assert [each.path for each in service.seen] == ["/v1/models/m/examples"]


class TestWhatMayDoHarmTwice:
    def test_isn_t_sent_again_where_it_may_have_arrived(self, service, client):
        service.mishaps[:] = [hangs_up]

        with pytest.raises(TrainerError, match="closed the connection"):
            client.create("m", loss="logistic", bits=18)

        assert len(service.seen) == 1

    def test_is_sent_again_where_the_service_put_it_off(self, service, client):
        service.mishaps[:] = [says(503), says(429)]

        assert client.create("m", loss="logistic", bits=18, rate=0.5).name == "m"

        sent = json.loads(service.seen[-1].body)
        assert sent == {"name": "m", "loss": "logistic", "bits": 18, "rate": 0.5}
        assert len(service.seen) == 3


def test_a_service_that_isn_t_there_is_given_up(unused_port):
    url = f"http://127.0.0.1:{unused_port}"

    with (
        TrainerClient(url, retry_policy=RetryPolicy(give_up_seconds=0)) as client,
        pytest.raises(TrainerError, match="can't be reached"),
    ):
        client.model("m")


def test_an_answer_without_end_is_cut_off(service, client):
    service.mishaps[:] = [answers(bytes(1 << 25), "application/json")]

    with pytest.raises(TrainerError, match="at a length"):
        client.push("m", [rows_of(3)])


def test_surroundings_choose_nothing(service, monkeypatch, tmp_path):
    """No proxy and no password of the environment."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login CANARY password CANARY")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    with TrainerClient(service.url, retry_policy=QUICK) as client:
        client.push("m", [rows_of(3)])

    (seen,) = service.seen
    assert "authorization" not in seen.headers
    assert seen.headers["user-agent"] == "halfmask"


def test_a_name_can_t_lead_elsewhere(service, client):
    client.delete("../../tokens?x=1#y")

    assert service.seen[0].path == "/v1/models/..%2F..%2Ftokens%3Fx%3D1%23y"


@pytest.mark.parametrize("given", [b"[]", b"{}", b"null", b'{"name": "m"}', b'{"settings": 3}'])
def test_an_answer_that_describes_no_model_is_an_error(service, client, given):
    service.mishaps[:] = [answers(given, "application/json")]

    with pytest.raises(TrainerError, match="describes no model"):
        client.create("m", loss="logistic", bits=18)


@pytest.mark.parametrize("body", [b"<html>", b"[" * 100_000], ids=["page", "deep"])
def test_an_answer_that_isn_t_json_is_an_error(service, client, body):
    service.mishaps[:] = [answers(body, "text/html")]

    with pytest.raises(TrainerError, match="isn't JSON"):
        client.push("m", [rows_of(3)])


@pytest.mark.parametrize("wrong", ["gzip", ""])
def test_a_compression_that_isn_t_known_is_refused(wrong):
    with pytest.raises(ParameterError, match="compression"):
        TrainerClient("http://127.0.0.1:1", compression=wrong)
