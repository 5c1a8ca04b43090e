"""Routes for analysts: what the table is, what a question costs, and its answer."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, cast

from fastapi import APIRouter, Request, Response

from halfmask.trainer.queries._padding import in_steps_of, padded
from halfmask.trainer.queries._query_schemas import AskedQuestion  # noqa: TC001 # FastAPI reads it
from halfmask.trainer.service._bounded_route import BoundedBodyRoute
from halfmask.trainer.service._requests import FAILURES, token_of
from halfmask.trainer.service._responses import ARROW_STREAM, JSON, json_of

if TYPE_CHECKING:
    from halfmask.dp.queries import PrivateAnswer
    from halfmask.trainer.queries._query_service import QueryService

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
        return Response(padded(_arrow_of(found), b"\0"), media_type=ARROW_STREAM)
    body = bytes(json_of(found.to_dict()).body)
    return Response(padded(body, b" "), media_type=JSON)


def _arrow_of(found: PrivateAnswer) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    facts = {key: value for key, value in found.to_dict().items() if key != "rows"}
    rows = found.frame.to_arrow().replace_schema_metadata({METADATA: json.dumps(facts).encode()})
    written = io.BytesIO()
    with pa.ipc.new_stream(written, rows.schema) as stream:
        stream.write_table(rows)
    return written.getvalue()
