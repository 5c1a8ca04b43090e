"""The short way to the routes of rows answers as FastAPI does, and takes only what is right."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.responses import Response

from halfmask.trainer.service._row_routes import FastPath, fast_paths
from trainer.service.stage import ARROW, body  # type: ignore[import-not-found] # beside, no package

RECEIPT = {"ok": True, "seq": 1, "rows": 20, "replayed": False}


def test_it_knows_both_routes_of_rows():
    assert set(fast_paths()) == {"/v1/models/{name}/examples", "/v1/models/{name}/predict"}


@pytest.mark.parametrize(
    ("method", "path", "keys", "short"),
    [
        ("POST", "/v1/models/m/examples", [], True),
        ("POST", "/v1/models/m/examples", ["a-key"], True),
        ("POST", "/v1/models/m/predict", [], True),
        ("POST", "/v1/models/m/examples", ["two", "keys"], False),
        ("POST", "/v1/models/m/examples", [""], False),
        ("POST", "/v1/models/m/examples", ["a b"], False),
        ("POST", "/v1/models/m/examples", ["k" * 129], False),
        ("POST", f"/v1/models/{'m' * 65}/examples", [], False),
        ("GET", "/v1/models/m/examples", [], False),
        ("POST", "/v1/models/m/canaries", [], False),
        ("POST", "/v1/models/m/examples/", [], False),
        ("POST", "/v1/models/a/b/examples", [], False),
        ("POST", "/v1/models/m%2Fn/predict", [], False),
    ],
)
def test_only_what_is_as_it_should_be_goes_the_short_way(method, path, keys, short):
    seen = []

    async def answer(name, request, key):
        seen.append((name, key, request.scope["route"].path))
        return Response(b"short")

    routes = {path: (route, answer) for path, (route, _) in fast_paths().items()}
    headers = [("idempotency-key", each) for each in keys]
    answered = asyncio.run(asked(FastPath(Response(b"long"), routes=routes), method, path, headers))

    assert answered == (b"short" if short else b"long")
    kind = path.rpartition("/")[2]
    if short:
        assert seen == [("m", keys[0] if keys else None, f"/v1/models/{{name}}/{kind}")]


async def asked(app, method, path, headers):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://trainer") as client:
        return (await client.request(method, path, headers=headers)).content


@pytest.mark.parametrize("way", ["short", "long"])
def test_both_ways_answer_alike(trainer, way, monkeypatch):
    if way == "long":
        monkeypatch.setattr(FastPath, "__call__", long_only)
    trainer.create()
    rows, asked = body(), body(labels=False)

    learned = trainer.learn(rows, key="one")
    again = trainer.learn(rows, key="one")
    predicted = trainer.predict(asked)
    in_arrow = trainer.predict(asked, Accept=ARROW)
    strange = trainer.learn(b"no rows")
    missing = trainer.predict(asked, name="other")
    forbidden = trainer.predict(asked, token=trainer.header("learn"))

    assert (learned.status_code, learned.json()) == (200, RECEIPT)
    assert again.json() == RECEIPT | {"replayed": True}
    assert predicted.json()["ok"] is True
    assert len(predicted.json()["predictions"]) == 20
    assert in_arrow.headers["content-type"] == ARROW
    assert (strange.status_code, strange.json()["code"]) == (422, "data")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    assert (forbidden.status_code, forbidden.json()["code"]) == (403, "forbidden")
    for each in (learned, predicted, strange):
        assert each.headers["cache-control"] == "no-store"
    result = trainer.ask("GET", "/metrics").text
    assert 'route="/v1/models/{name}/examples"' in result
    assert 'route="/v1/models/{name}/predict"' in result


async def long_only(self, scope, receive, send):
    await self._app(scope, receive, send)


def test_the_service_goes_the_short_way(trainer, monkeypatch):
    gone = []
    took = FastPath.__call__

    async def telling(self, scope, receive, send):
        async def noting(*what):
            gone.append(scope["path"])
            await self._app(*what)

        await took(FastPath(noting, routes=self._routes), scope, receive, send)

    trainer.create()
    monkeypatch.setattr(FastPath, "__call__", telling)

    assert trainer.learn(body()).status_code == 200
    assert gone == []
    assert trainer.ask("GET", "/v1/models/m").status_code == 200
    assert gone == ["/v1/models/m"]
