"""The query service: analysts with shares get answers, and nothing else."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager

import httpx
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from halfmask.dp.ledger import PrivacyLedger
from halfmask.dp.queries import PrivateTable
from halfmask.trainer.queries import create_query_app
from halfmask.trainer.service._serving import server_of
from halfmask.trainer.store import open_lists

RANDOM = np.random.default_rng(11)
ROWS = pl.DataFrame(
    {"age": RANDOM.integers(0, 90, 1000), "name": ["CANARY"] * 1000, "sex": ["f", "m"] * 500}
)
COUNT = {"sql": "SELECT COUNT(*) FROM people WHERE age >= 30", "epsilon": 0.5}


@contextmanager
def served(app):
    """Yield a client of an application that listens on a port of this machine."""
    ports, listening = [], threading.Event()

    def started(port):
        ports.append(port)
        listening.set()

    server = server_of(app, host="127.0.0.1", port=0, tls=None, started=started)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert listening.wait(20), "the service didn't start"
    address = f"http://127.0.0.1:{ports[0]}"
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        yield client
    server.should_exit = True
    thread.join(20)


class Analyst:
    """A client with a token."""

    def __init__(self, client, token):
        self._client, self._token = client, token

    def ask(self, method, path, **given):
        headers = {"Authorization": f"Bearer {self._token}", **given.pop("headers", {})}
        said = self._client.request(method, path, headers=headers, **given)
        assert "CANARY" not in said.text
        return said

    def answer(self, **asked):
        return self.ask("POST", "/v1/answer", json={**COUNT, **asked})


@pytest.fixture
def ledger(tmp_path):
    made = PrivacyLedger.create(
        tmp_path / "vault", ROWS, dataset="people", epsilon=2.0, delta=1e-6, bounds={"age": (0, 99)}
    )
    made.allow("ann", epsilon=1.0)
    made.allow("bob", epsilon=1.5)
    return made


@pytest.fixture
def service(tmp_path, ledger):
    app = create_query_app(
        tmp_path / "service",
        PrivateTable.open(ROWS, ledger=ledger),
        public={"sexes": pl.DataFrame({"sex": ["f", "m"], "word": ["woman", "man"]})},
        step_seconds=0.01,
    )
    with served(app) as client:

        def analyst(name, *, tenant="people", scope="read"):
            database, tokens = open_lists(tmp_path / "service", create=True)
            _, token = tokens.create(client=name, tenant=tenant, scopes=frozenset({scope}))
            database.close()
            return Analyst(client, token)

        yield analyst


def test_an_analyst_learns_what_the_table_is(service):
    said = service("ann").ask("GET", "/v1/table").json()
    assert said["columns"] == {"age": "Int64", "name": "String", "sex": "String"}
    assert said["bounds"] == {"age": [0, 99]}
    assert said["public_tables"] == ["sexes"]
    assert (said["epsilon"], said["spent"]) == (1.0, 0.0)
    assert "differentially private" in said["guarantee"]


def test_a_plan_costs_nothing(service, ledger):
    said = service("ann").ask("POST", "/v1/plan", json=COUNT).json()
    assert said["errors"] == ["count: ± 5.991"]
    assert said["uncovered"] == []
    assert not ledger.charges


def test_answers_in_json_and_arrow_are_the_same_and_padded(service, ledger):
    ann = service("ann")
    said = ann.answer()
    assert said.status_code == 200
    assert len(said.content) % 4096 == 0
    (row,) = said.json()["rows"]
    assert row["count"] == pytest.approx(ROWS.filter(pl.col("age") >= 30).height, abs=40)

    again = ann.ask("POST", "/v1/answer", json=COUNT, headers={"Accept": ARROW})
    assert len(again.content) % 4096 == 0
    read = pa.ipc.open_stream(io.BytesIO(again.content)).read_all()
    assert read.to_pylist() == [row]
    facts = json.loads(read.schema.metadata[b"halfmask.answer"])
    assert facts["from_book"]
    assert len(ledger.charges) == 1


ARROW = "application/vnd.apache.arrow.stream"


def test_each_pays_of_a_share_and_all_of_the_whole(service, ledger):
    ann, bob = service("ann"), service("bob")
    assert ann.answer(epsilon=0.9).status_code == 200
    refused = ann.answer(epsilon=0.2, sql="SELECT COUNT(*) FROM people")
    assert (refused.status_code, refused.json()["code"]) == (403, "budget")
    assert "share" in refused.json()["error"]
    # What was answered to one costs another nothing.
    assert bob.answer(epsilon=0.9).json()["from_book"]
    assert bob.answer(epsilon=1.0, sql="SELECT SUM(age) FROM people").status_code == 200
    refused = bob.answer(epsilon=0.4, sql="SELECT AVG(age) FROM people")
    assert refused.status_code == 403
    assert "the budget" in refused.json()["error"]
    assert [each.analyst for each in ledger.charges] == ["ann", "bob"]


@pytest.mark.slow
def test_who_has_no_share_reads_no_answer_of_others(service):
    assert service("ann").answer().status_code == 200
    said = service("eve").answer()
    assert said.status_code == 403
    assert "rows" not in said.json()


def test_tokens_of_other_data_sets_and_scopes_are_refused(service):
    assert service("ann", tenant="other").answer().status_code == 404
    assert service("ann", scope="predict").answer().status_code == 403
    assert Analyst(service("ann")._client, "hmt_x").answer().status_code == 401


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"sql": "SELECT name FROM people"}, 422),
        ({"sql": "SELECT COUNT(*) FROM people WHERE name = 3"}, 422),
        ({"sql": "SELECT COUNT(*) FROM people WHERE town = 'x'"}, 422),
        ({"sql": "SELECT SUM(name) FROM people"}, 422),
        ({"sql": "SELECT AVG(sex) FROM people"}, 422),
        ({"sql": "SELECT name, COUNT(*) FROM people GROUP BY name"}, 422),
        ({"sql": "DROP TABLE people"}, 422),
        ({"sql": ""}, 422),
        ({"sql": "x" * 20_000}, 422),
        ({"epsilon": 0}, 422),
        ({"epsilon": -1}, 422),
        ({"epsilon": 1e9}, 422),
        ({"epsilon": "1; DROP"}, 422),
        ({"delta": 1}, 422),
        ({"noise": "none"}, 422),
        ({"analyst": "bob"}, 422),
    ],
)
def test_questions_that_are_none_are_refused_and_cost_nothing(service, ledger, asked, status):
    said = service("ann").answer(**asked)
    assert said.status_code == status
    assert not said.json()["ok"]
    assert not ledger.charges


@pytest.mark.parametrize("asked", [{}, {"epsilon": 5}, {"sql": "SELECT AVG(town) FROM people"}])
def test_refusals_are_the_same_for_other_rows(tmp_path, asked):
    """The same questions to two tables that differ in every cell: the same words or an answer."""
    said = []
    other = ROWS.with_columns(age=pl.col("age") * 0 + 89, name=pl.lit("CANARY-2"), sex=pl.lit("x"))
    for at, rows in enumerate((ROWS, other)):
        where = tmp_path / str(at)
        where.mkdir()
        ledger = PrivacyLedger.create(
            where / "v", rows, dataset="people", epsilon=1.0, delta=0.0, bounds={"age": (0, 99)}
        )
        ledger.allow("ann", epsilon=1.0)
        app = create_query_app(
            where / "s", PrivateTable.open(rows, ledger=ledger), step_seconds=0.01
        )
        database, tokens = open_lists(where / "s", create=True)
        _, token = tokens.create(client="ann", tenant="people", scopes=frozenset({"read"}))
        database.close()
        with served(app) as client:
            found = Analyst(client, token).answer(**asked)
        body = found.json()
        said.append((found.status_code, len(found.content), {**body, "rows": None}))
    assert said[0] == said[1]
