"""Routes for the operator of the service: health, readiness, metrics, docs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from halfmask.trainer.service import _schemas as schemas
from halfmask.trainer.service._access import demand
from halfmask.trainer.service._page import page_of
from halfmask.trainer.service._requests import FAILURES, service_of, token_of
from halfmask.trainer.service._responses import error_of, json_of

router = APIRouter(tags=["operations"])
_NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"model": schemas.Failed, "description": "It is bringing models back."}
}
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}
#: The page has no script and asks for nothing from anywhere.
_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


@router.get("/healthz", include_in_schema=False)  # as orchestrators call it
@router.get("/health", response_model=schemas.Done)
async def health() -> Response:
    """Show that the process answers. No token."""
    return json_of({})


@router.get("/ready", response_model=schemas.Done, responses=_NOT_READY)
async def ready(request: Request) -> Response:
    """Show whether all models have been brought back from the disk. No token."""
    if not service_of(request).store.ready:
        return error_of(
            "The trainer is bringing its models back from the disk.",
            status=503,
            word="starting",
            headers={"Retry-After": "1"},
        )
    return json_of({})


@router.get("/metrics", response_class=Response, responses=FAILURES | _TEXT)
async def metrics(request: Request) -> Response:
    """Show what Prometheus reads. Scope: metrics."""
    service = service_of(request)
    demand(token_of(request), "metrics")
    models, meters = service.store.models(), service.meters
    meters.backlog.set(service.backlog.taken)
    meters.models.set(len(models))
    meters.lag.set(sum(max(0, each.logged - each.learned) for each in models))
    meters.stopped.set(sum(each.stopped for each in models) + len(service.store.broken))
    tallies = [found for each in models if (found := each.state.defended()) is not None]
    for how in ("clipped", "capped", "refused", "taken_back"):
        meters.defended.labels(how).set(sum(each[how] for each in tallies))
    meters.rollbacks.set(sum(each["rollbacks"] for each in tallies))
    return PlainTextResponse(meters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/docs", response_class=HTMLResponse, include_in_schema=False)
async def docs(request: Request) -> Response:
    """Show this API for people to read, without anything from elsewhere."""
    state = request.app.state
    if not hasattr(state, "page"):
        # It needs no token, so it mustn't cost the time of clients with one.
        state.page = page_of(request.app.openapi())
    return HTMLResponse(state.page, headers=_POLICY)
