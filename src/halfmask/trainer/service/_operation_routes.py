"""Routes for the operator of the service: health, readiness, metrics, docs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from halfmask.trainer.service import _schemas as schemas
from halfmask.trainer.service._requests import FAILURES, admit_request, service_of
from halfmask.trainer.service._responses import error_of, json_of

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { border-top: 1px solid #ccc; padding-top: 1rem; margin-top: 2rem }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f4f4f4; padding: .1em .3em }
pre { padding: 1em; overflow-x: auto }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .3em .6em; border-bottom: 1px solid #ddd }
@media (prefers-color-scheme: dark) {
  body { background: #181818; color: #ddd } code, pre { background: #2a2a2a }
  a { color: #8ab4f8 }
}
</style>
</head>
<body>
<h1>{{ info.title }} {{ info.version }}</h1>
<p>{{ info.description }}</p>
<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>
{% for path, methods in paths.items() %}{% for method, operation in methods.items() %}
<h2><code>{{ method.upper() }} {{ path }}</code></h2>
<p>{{ operation.description or operation.summary }}</p>
{% if operation.parameters %}
<table><tr><th>Parameter</th><th>In</th><th>What it is</th></tr>
{% for it in operation.parameters %}
<tr><td><code>{{ it.name }}</code>{{ "" if it.required else " (optional)" }}</td>
<td>{{ it.in }}</td><td>{{ it.description or "" }}</td></tr>
{% endfor %}</table>
{% endif %}
{% if operation.requestBody %}
<p>Body: {% for kind in operation.requestBody.content %}<code>{{ kind }}</code>
{{ " or " if not loop.last }}{% endfor %}</p>
{% endif %}
<table><tr><th>Status</th><th>When</th><th>Answer</th></tr>
{% for status, answer in operation.responses.items() %}
<tr><td>{{ status }}</td><td>{{ answer.description }}</td>
<td>{% for kind in answer.content or {} %}<code>{{ kind }}</code> {% endfor %}</td></tr>
{% endfor %}</table>
{% endfor %}{% endfor %}
<h1>Objects</h1>
{% for name, schema in schemas.items() %}
<h2 id="{{ name }}"><code>{{ name }}</code></h2>
<p>{{ schema.description or "" }}</p>
<pre>{{ schema.properties | default({}) | tojson(indent=2) }}</pre>
{% endfor %}
</body>
</html>
"""


def page_of(api: dict[str, Any]) -> str:
    """Return the page of an API. Everything in it is escaped; it has no script."""
    from jinja2 import Environment  # noqa: PLC0415 # only this page needs it

    environment = Environment(autoescape=True)
    return environment.from_string(_TEMPLATE).render(
        info=api["info"], paths=api["paths"], schemas=api.get("components", {}).get("schemas", {})
    )


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
    service, _ = admit_request(request, "metrics")
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
