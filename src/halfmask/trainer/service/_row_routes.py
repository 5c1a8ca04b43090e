"""Routes of rows: examples that are learned, and rows that are predicted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.routing import APIRoute

from halfmask.trainer.service import _schemas as schemas
from halfmask.trainer.service._requests import BODY_FAILURES, FAILURES, admit_for_model, body_of
from halfmask.trainer.service._responses import ARROW_STREAM, JSON, json_of
from halfmask.trainer.service._service import Service, kind_of, outputs_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from starlette.types import ASGIApp, Receive, Scope, Send

    from halfmask.trainer.store import Batch, Model, Receipt, Token


#: A route of rows: the name of a model, the request, and its idempotency key.
Rows: TypeAlias = Callable[[str, Request, str | None], Awaitable["Response"]]

_PATH = re.compile(r"(/v1/models/)([^/]{1,64})(/[a-z]+)")
_KEY = re.compile(rb"[\x21-\x7e]{1,128}")


class FastPath:
    """Calls the routes of rows itself, and passes everything else to FastAPI.

    FastAPI's matching, dependencies and exits take more of the event loop than reading a batch, and
    predictions wait for it.

    Guarantees
    ----------
    A response is the one that FastAPI would give.
    """

    def __init__(self, app: ASGIApp, *, routes: Mapping[str, tuple[Any, Rows]]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            found = _PATH.fullmatch(scope["path"])
        route = found and self._routes.get(f"{found[1]}{{name}}{found[3]}")
        keys = [value for name, value in scope.get("headers", ()) if name == b"idempotency-key"]
        if found and route and (not keys or (len(keys) == 1 and _KEY.fullmatch(keys[0]))):
            scope["route"], answer = route
            key = keys[0].decode("ascii") if keys else None
            response = await answer(found[2], Request(scope, receive), key)
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


#: Bodies that take less than a millisecond to read and to predict.
SMALL = 1 << 15

router = APIRouter(prefix="/v1/models", tags=["rows"], responses=FAILURES | BODY_FAILURES)
Name = Annotated[str, Path(max_length=64, description="The model's name.")]
#: What the body is: FastAPI would read it before anything is known of it.
_ROWS: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            ARROW_STREAM: {
                "schema": {"type": "string", "format": "binary"},
                "description": "A stream of the wire format hashed-rows/1.",
            },
            JSON: {"schema": schemas.RowsOfJson.model_json_schema()},
        },
    }
}
_NUMBERS = {200: {"content": {ARROW_STREAM: {"schema": {"type": "string", "format": "binary"}}}}}


@router.post("/{name}/examples", response_model=schemas.Acknowledged, openapi_extra=_ROWS)
async def learn(
    name: Name,
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            max_length=128,
            pattern=r"^[\x21-\x7e]+$",
            description="A unique word for each batch: a batch sent again is learned once.",
        ),
    ] = None,
) -> Response:
    """Learn from rows with labels. The response confirms they are on the disk. Scope: learn."""
    service, token, model = admit_for_model(request, name, "learn")
    kind = kind_of(request.headers.get("content-type"))
    most = service.options.limits.body_bytes
    key = (idempotency_key or "").encode()
    lease = service.backlog.lease(client=token.id, tenant=token.tenant)
    try:
        pieces = await body_of(request, lease, most=most)
        batch = await service.run(
            service.checking, service.batch, model, pieces, kind, lease, (token, key)
        )
        service.access.take_rows(token, batch.entry.rows)
        future, replayed = await service.run(
            service.checking, _submit, service, model, batch, token
        )
    except BaseException:
        lease.give_back()
        raise
    try:
        receipt = await asyncio.wrap_future(future)
    except BaseException:
        if not replayed:
            service.store.count(token.id, -batch.entry.rows)
        raise
    meter = service.meters.repeated if replayed else service.meters.learned
    meter.inc(1 if replayed else receipt.rows)
    return json_of({"seq": receipt.seq, "rows": receipt.rows, "replayed": replayed})


@router.post("/{name}/canaries", response_model=schemas.Acknowledged, openapi_extra=_ROWS)
async def judge(name: Name, request: Request) -> Response:
    """Let the model's guard judge by these rows with labels from now on. Scope: admin."""
    service, token, model = admit_for_model(request, name, "admin")
    kind = kind_of(request.headers.get("content-type"))
    most = service.options.limits.body_bytes
    lease = service.backlog.lease(client=token.id, tenant=token.tenant)
    try:
        pieces = await body_of(request, lease, most=most)
        batch = await service.run(
            service.checking, service.canaries, model, pieces, kind, lease, token
        )
        future, _ = await service.run(service.checking, model.submit, batch)
    except BaseException:
        lease.give_back()
        raise
    receipt = await asyncio.wrap_future(future)
    return json_of({"seq": receipt.seq, "rows": receipt.rows, "replayed": False})


@router.post(
    "/{name}/predict",
    response_model=schemas.Predictions,
    openapi_extra=_ROWS,
    responses=_NUMBERS,  # type: ignore[arg-type] # FastAPI's type has fewer keys than it takes
)
async def predict(name: Name, request: Request) -> Response:
    """Predict rows without labels; by Accept in Arrow or in JSON. Scope: predict."""
    service, token, model = admit_for_model(request, name, "predict")
    kind = kind_of(request.headers.get("content-type"))
    most = service.options.limits.body_bytes
    arrow = ARROW_STREAM in request.headers.get("accept", "")
    lease = service.predicting.lease(client=token.id, tenant=token.tenant)
    try:
        pieces = await body_of(request, lease, most=most)
        work = partial(service.predicted, model, pieces, kind, lease, arrow=arrow)
        if lease.size * outputs_of(model) <= SMALL:
            # Two changes of threads would take longer than the work.
            answer, rows = work()
        else:
            answer, rows = await service.run(service.predictors, work)
    finally:
        lease.give_back()
    service.access.take_rows(token, rows)
    service.meters.predicted.inc(rows)
    return answer


async def _predict(name: str, request: Request, _: str | None) -> Response:
    return await predict(name, request)


def fast_paths() -> dict[str, tuple[Any, Rows]]:
    """Return the frequent routes, by their paths, with their functions."""
    often: dict[str, Rows] = {"learn": learn, "predict": _predict}
    return {
        each.path: (each, often[each.name])
        for each in router.routes
        if isinstance(each, APIRoute) and each.name in often
    }


def _submit(
    service: Service, model: Model, batch: Batch, token: Token
) -> tuple[Future[Receipt], bool]:
    """Hand a batch to its model; a new one counts for its client's quota. Runs in a thread."""
    rows = batch.entry.rows
    return model.submit(
        batch, admit=lambda: service.store.count(token.id, rows, quota=token.rows_quota)
    )
