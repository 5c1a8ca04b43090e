"""Routes of models: make, list, look at, delete; snapshots and the way back to them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from halfmask.trainer.service import _schemas as schemas
from halfmask.trainer.service._requests import (
    BODY_FAILURES,
    FAILURES,
    BoundedBodyRoute,
    admit_for_model,
    admit_request,
)
from halfmask.trainer.service._responses import json_of
from halfmask.trainer.store import Curve, Model, RefusedError, Snapshot

router = APIRouter(
    prefix="/v1/models", tags=["models"], responses=FAILURES, route_class=BoundedBodyRoute
)
Name = Annotated[str, Path(max_length=64, description="The model's name.")]


@router.post("", status_code=201, response_model=schemas.ModelResponse, responses=BODY_FAILURES)
async def create(body: schemas.NewModel, request: Request) -> Response:
    """Make a model. Scope: admin."""
    service, token = admit_request(request, "admin")
    settings = body.model_dump(exclude={"name", "defences"}) | {"threads": 1}
    _check_size(settings, service.options.limits.max_bits)
    if body.defences is not None:
        settings["defences"] = _defences(body.defences, settings["loss"])
    model = await service.run(
        service.making, service.store.create, token.tenant, body.name, settings
    )
    facts = await service.run(service.waiting, _facts, model)
    return json_of(facts, status=201)


@router.get("", response_model=schemas.Models)
async def listed(request: Request) -> Response:
    """List the models of the token's tenant. Scope: read."""
    service, token = admit_request(request, "read")
    models = service.store.models(token.tenant)
    facts = await service.run(service.waiting, lambda: [_facts(each) for each in models])
    return json_of({"models": [{"ok": True, **each} for each in facts]})


@router.get("/{name}", response_model=schemas.ModelResponse)
async def shown(name: Name, request: Request, *, digest: bool = False) -> Response:
    """Show a model; with `digest`, the SHA-256 of its weights, too. Scope: read."""
    service, _, model = admit_for_model(request, name, "read")
    pool = service.digesting if digest else service.waiting
    return json_of(await service.run(pool, _facts, model, digest))


@router.delete("/{name}", response_model=schemas.Done)
async def deleted(name: Name, request: Request) -> Response:
    """Delete a model, with its log and its snapshots. Scope: admin."""
    service, token = admit_request(request, "admin")
    await service.run(service.making, service.store.delete, token.tenant, name)
    return json_of({})


@router.get("/{name}/metrics", response_model=schemas.Metrics)
async def metrics(name: Name, request: Request) -> Response:
    """Show how a model does on rows before it learns from them. Scope: read."""
    service, _, model = admit_for_model(request, name, "read")
    summary = await service.run(service.waiting, model.state.summary)
    return json_of(summary | {"logged": model.logged})


@router.post(
    "/{name}/snapshots",
    status_code=201,
    response_model=schemas.SnapshotResponse,
    responses=BODY_FAILURES,
)
async def snapshot(name: Name, request: Request) -> Response:
    """Keep the model as it is after all that was acknowledged before. Scope: admin."""
    service, _, model = admit_for_model(request, name, "admin")
    future = await service.run(service.waiting, model.snapshot)
    made = await asyncio.wrap_future(future)
    return json_of(_snapshot(made), status=201)


@router.get("/{name}/snapshots", response_model=schemas.SnapshotList)
async def snapshots(name: Name, request: Request) -> Response:
    """List the snapshots of a model. Scope: read."""
    service, _, model = admit_for_model(request, name, "read")
    found = await service.run(service.waiting, model.snapshots)
    return json_of({"snapshots": [{"ok": True, **_snapshot(each)} for each in found]})


@router.delete("/{name}/snapshots/{snapshot}", response_model=schemas.Done)
async def snapshot_deleted(
    name: Name, snapshot: Annotated[int, Path(ge=0, lt=1 << 63)], request: Request
) -> Response:
    """Delete a snapshot. Scope: admin."""
    service, _, model = admit_for_model(request, name, "admin")
    await service.run(service.waiting, model.delete_snapshot, snapshot)
    return json_of({})


@router.post("/{name}/rollback", response_model=schemas.ModelResponse, responses=BODY_FAILURES)
async def rolled_back(name: Name, body: schemas.RollbackRequest, request: Request) -> Response:
    """Make the model what it was at a snapshot. Scope: admin."""
    service, token, model = admit_for_model(request, name, "admin")
    future = await service.run(service.waiting, model.roll_back, body.snapshot, token.id)
    await asyncio.wrap_future(future)
    return json_of(await service.run(service.waiting, _facts, model))


def _facts(model: Model, digest: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 # a thread's
    settings, state = model.facts.settings, model.state
    learned = model.learned  # before the rows, so that they include it
    facts = {
        "name": model.facts.name,
        "loss": settings["loss"],
        "bits": settings["bits"],
        "classes": settings["classes"],
        "rows": state.curve.rows,
        "settings": {name: each for name, each in settings.items() if name != "defences"},
        "defences": model.defences,
        "created": model.facts.created,
        "logged": model.logged,
        "learned": learned,
        "stopped": model.stopped,
        "disk_bytes": model.disk_bytes(),
    }
    return facts | ({"digest": state.digest()} if digest else {})


def _snapshot(of: Snapshot) -> dict[str, Any]:
    curve = Curve.from_dict(of.metadata["curve"])
    return {
        "snapshot": of.seq,
        "automatic": of.automatic,
        "made": of.made,
        "bytes": of.size,
        "rows": curve.rows,
        **curve.total.means(classes=curve.classes),
    }


def _defences(body: schemas.DefencesRequest, loss: str) -> dict[str, Any]:
    """Return defences as a model's settings have them."""
    if body.clip is None and body.caps is None and body.guard is None:
        raise RefusedError(
            "Defences are at least one of clip, caps and guard.", status=422, word="parameter"
        )
    found = body.model_dump()
    if found["guard"] is not None:
        found["guard"]["margins"] = loss == "hinge"
    return found


def _check_size(settings: dict[str, Any], max_bits: int) -> None:
    """Refuse a model that would take the memory of all others."""
    outputs = settings["classes"] if settings["loss"] == "softmax" else 1
    if settings["bits"] > max_bits or outputs << settings["bits"] > 4 << max_bits:
        raise RefusedError(
            f"A model here has at most {max_bits} bits, and a softmax as many weights as four "
            "of these.",
            status=422,
            word="parameter",
            hint="Take fewer bits, or fewer classes.",
        )
