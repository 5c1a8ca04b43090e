"""Health, readiness, metrics, the OpenAPI and its page; and what schemathesis makes of it."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    Trainer,
    body,
    refused,
    with_limits,
)

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    limits = with_limits(models_per_tenant=10_000, max_bits=10)
    with Trainer(tmp_path_factory.mktemp("walked") / "t", limits) as made:
        made.create()
        made.learn(body())
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_what_the_openapi_allows_and_forbids_is_answered_as_it_says(walked, mode):
    """Schemathesis makes requests of every operation, good ones and bad ones."""
    schema = schemathesis.openapi.from_url(f"{walked.client.base_url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == 15
    for operation in operations:

        @settings(
            max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
        )
        @given(operation.as_strategy(generation_mode=mode))
        def walk(case):
            case.call_and_validate(headers=walked.everything, checks=CHECKS)

        with suppress(Unsatisfiable):  # some have nothing that could be wrong
            walk()


def test_health_and_readiness_need_no_token(trainer):
    assert trainer.client.get("/health").json() == {"ok": True}
    assert trainer.client.get("/healthz").json() == {"ok": True}
    assert trainer.client.get("/ready").json() == {"ok": True}


def test_a_service_that_is_starting_says_so(trainer, monkeypatch):
    monkeypatch.setattr(trainer.service.store, "ready", False)

    answer = trainer.client.get("/ready")

    refused(answer, 503, "starting")
    assert answer.headers["retry-after"] == "1"
    refused(trainer.ask("GET", "/v1/models/m"), 503, "starting")
    refused(trainer.ask("POST", "/v1/models", json={"name": "m"}), 503, "starting")
    refused(trainer.ask("DELETE", "/v1/models/m"), 503, "starting")


def test_prometheus_reads_what_was_done_and_no_name(model):
    model.learn(body(30), key="k")
    model.learn(body(30), key="k")
    model.predict(body(7, labels=False))
    model.learn(b"nothing")

    found = model.ask("GET", "/metrics").text

    assert re.search(r"^halfmask_rows_acknowledged_total \d+", found, re.MULTILINE)
    assert re.search(r"^halfmask_batches_repeated_total [1-9]", found, re.MULTILINE)
    assert re.search(r"^halfmask_flush_seconds_count [1-9]", found, re.MULTILINE)
    route = 'route="/v1/models/{name}/examples"'
    assert re.search(
        rf'^halfmask_requests_total{{method="POST",{route},status="422"}} 1', found, re.MULTILINE
    )
    assert model.tenant not in found
    assert "anna" not in found


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(trainer):
    answer = trainer.client.get("/docs")

    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.findall(r"<script|<link|<img|@import|url\(|https?://", answer.text)
    for path in trainer.client.get("/openapi.json").json()["paths"]:
        assert path in answer.text


def test_answers_arent_kept_by_anybody_on_the_way(model):
    for answer in (model.ask("GET", "/v1/models"), model.client.get("/v1/models")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_what_fails_unexpectedly_is_a_500_that_tells_nothing(model, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("CANARY")

    monkeypatch.setattr(model.service, "predicted", fail)

    refused(model.predict(body(labels=False)), 500, "unexpected")
    assert "CANARY" not in caplog.text
    assert "RuntimeError" in caplog.text
