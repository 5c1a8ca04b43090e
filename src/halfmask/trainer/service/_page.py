"""The API as a page that people read: made from its OpenAPI, with nothing from elsewhere."""

from __future__ import annotations

from typing import Any

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
        info=api["info"],
        paths=api["paths"],
        schemas=api.get("components", {}).get("schemas", {}),
    )
