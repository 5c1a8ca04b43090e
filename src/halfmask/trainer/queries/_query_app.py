"""The application of the query service: the trainer's middleware, and routes for analysts."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

from fastapi import APIRouter, FastAPI, Request, Response

from halfmask.trainer.queries._query_service import AskedQuestion  # noqa: TC001 # FastAPI reads it
from halfmask.trainer.service._app import bare_app, keeping_up
from halfmask.trainer.service._auth_middleware import AuthMiddleware
from halfmask.trainer.service._requests import FAILURES, BoundedBodyRoute, token_of
from halfmask.trainer.service._responses import ARROW_STREAM, JSON, json_of

if TYPE_CHECKING:
    from halfmask.dp.queries import PrivateAnswer
    from halfmask.trainer.queries._query_service import QueryService
    from halfmask.trainer.service._service import Service


Result = TypeVar("Result")
#: The length of a body is a multiple of this.
BLOCK_BYTES: Final = 4096


def pad_body(body: bytes, filler: bytes) -> bytes:
    """Return a body that is filled up to a multiple of a block.

    Examples
    --------
    >>> len(pad_body(b"{}", b" "))
    4096
    """
    return body + filler * (-len(body) % BLOCK_BYTES)


async def in_steps_of(seconds: float, work: Awaitable[Result]) -> Result:
    """Return a result, or raise an error, after a whole number of steps of time."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    try:
        return await work
    finally:
        await asyncio.sleep(seconds - (loop.time() - begun) % seconds)


router = APIRouter(tags=["queries"], route_class=BoundedBodyRoute)
open_router = APIRouter(tags=["operations"])
METADATA = b"halfmask.answer"


def _service_of(request: Request) -> QueryService:
    return cast("QueryService", request.app.state.service)


@open_router.get("/health")
async def health() -> Response:
    """Show that the process answers. No token."""
    return json_of({})


@router.get("/v1/table", responses=FAILURES)
async def table(request: Request) -> Response:
    """Show columns, declared bounds and keys, and the analyst's share. Scope: read."""
    service = _service_of(request)
    return json_of(await service.run(service.describe, token_of(request)))


@router.post("/v1/plan", responses=FAILURES)
async def plan(request: Request, asked: AskedQuestion) -> Response:
    """Show cost and expected error of a question; nothing is charged. Scope: read."""
    service = _service_of(request)
    found = await service.run(service.plan, token_of(request), asked)
    return json_of(found.to_dict())


@router.post("/v1/answer", responses=FAILURES)
async def answer(request: Request, asked: AskedQuestion) -> Response:
    """Answer a question, in JSON or in Arrow if the request accepts that. Scope: read.

    The length of the answer and the time until it comes are padded to coarse steps.
    """
    service = _service_of(request)
    work = service.run(service.answer, token_of(request), asked)
    found = await in_steps_of(service.step_seconds, work)
    if ARROW_STREAM in request.headers.get("accept", ""):
        # Readers of a stream stop at its end.
        return Response(pad_body(_arrow_of(found), b"\0"), media_type=ARROW_STREAM)
    body = bytes(json_of(found.to_dict()).body)
    return Response(pad_body(body, b" "), media_type=JSON)


def _arrow_of(found: PrivateAnswer) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    facts = {key: value for key, value in found.to_dict().items() if key != "rows"}
    rows = found.frame.to_arrow().replace_schema_metadata({METADATA: json.dumps(facts).encode()})
    written = io.BytesIO()
    with pa.ipc.new_stream(written, rows.schema) as stream:
        stream.write_table(rows)
    return written.getvalue()


def query_application(service: QueryService) -> FastAPI:
    """Return the application over a service, which is closed when it is shut down."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with keeping_up(service.access):
            yield
        await asyncio.to_thread(service.close)

    app = bare_app(
        service,
        title="halfmask queries",
        description=(
            "Answers questions about a table under a budget of differential privacy. Each request "
            "but that for health has a header Authorization: Bearer TOKEN."
        ),
        lifespan=lifespan,
    )
    app.include_router(open_router)
    app.include_router(router)
    # It needs options, tokens and meters, which both services have.
    app.add_middleware(AuthMiddleware, service=cast("Service", service))
    return app
