"""What the API reference adds to docstrings: links, comments of constants, fields as parameters.

Griffe loads it when zensical builds docs/reference/python/.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import (
    Attribute,
    Class,
    Docstring,
    Extension,
    Function,
    Object,
    Parameter,
    ParameterKind,
    Parameters,
)

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)([\w.]+)`")
#: What an entry of See Also begins with: one name or several, then a colon.
NAMES = re.compile(r"^([\w.]+(?:, [\w.]+)*) ?:", re.MULTILINE)
SEE_ALSO = re.compile(r"(?<=See Also\n--------\n).*?(?=\n\n|\Z)", re.DOTALL)
#: Classes whose fields are keyword arguments: pydantic writes their `__init__`.
PYDANTIC = {
    *("Action", "BaseModel", "EventSection", "PolicySections"),
    *("Section", "WrittenPolicy"),
}
ALIAS = re.compile(r"alias=['\"](\w+)['\"]")


def _as_link(found: re.Match[str]) -> str:
    """Write a role as Markdown; where it leads is looked up from where the docstring stands."""
    shortened, target = found.groups()
    return _link(target, target.rpartition(".")[2] if shortened else target)


def _link(target: str, shown: str) -> str:
    """Link a name. One from the root isn't looked up: a class may have a field `halfmask`."""
    if target.startswith("halfmask."):
        return f'<autoref identifier="{target}"><code>{shown}</code></autoref>'
    return f"[`{shown}`][{target}]"


def _as_list(found: re.Match[str]) -> str:
    """Write See Also as a list of links."""
    linked = NAMES.sub(
        lambda it: "- " + ", ".join(_link(name, name) for name in it[1].split(", ")) + ":",
        found[0],
    )
    return "\n" + linked


def _comment_above(attribute: Attribute) -> str:
    """Return what the `#:` comment above a constant says."""
    path = attribute.filepath
    if attribute.parent is None or isinstance(path, list):
        return ""
    lines = attribute.parent.lines_collection[path]
    comment: list[str] = []
    for line in reversed(lines[: (attribute.lineno or 1) - 1]):
        text = line.strip()
        if not text.startswith("#:"):
            break
        comment.insert(0, text.removeprefix("#:").strip())
    return "\n".join(comment)


def _constructor(model: Class) -> Function:
    """Return the `__init__` that pydantic writes: the fields as keyword arguments."""
    fields = []
    bases = [model, *model.mro()]
    known = {name: field for each in reversed(bases) for name, field in each.attributes.items()}
    for name, field in known.items():
        if name.startswith(("_", "model_")) or "property" in field.labels:
            continue
        if str(field.annotation).startswith("ClassVar"):
            continue
        value = str(field.value) if field.value is not None else None
        alias = ALIAS.search(value or "")
        if value is not None and value.startswith("Field("):
            value = "..." if "default" in value else None
        fields.append(
            Parameter(
                alias[1] if alias else name,
                annotation=field.annotation,
                kind=ParameterKind.keyword_only,
                default=value,
            )
        )
    return Function("__init__", parameters=Parameters(*fields), parent=model)


def _spread(function: Function) -> None:
    """Show the keys of ``**given: Unpack[Given]`` as the keyword arguments that they are."""
    for parameter in function.parameters:
        typed = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if typed is None or typed[1] not in function.module.members:
            continue
        del function.parameters[parameter.name]
        for name, field in function.module.members[typed[1]].attributes.items():
            kind = ParameterKind.keyword_only
            function.parameters.add(
                Parameter(name, annotation=field.annotation, kind=kind, default="...")
            )
        return


class ReferenceLinks(Extension):
    """Change what was read of the source; the source stays as it is."""

    def on_object(self, *, obj: Object, **_: Any) -> None:  # noqa: ANN401 # the hook's own
        """Mend one object and its docstring."""
        if isinstance(obj, Attribute) and obj.docstring is None and (text := _comment_above(obj)):
            obj.docstring = Docstring(text, parent=obj)
        if isinstance(obj, Function):
            _spread(obj)
        if isinstance(obj, Class):
            bases = {str(base).rpartition(".")[2] for base in obj.bases}
            if bases & PYDANTIC:
                obj.set_member("__init__", _constructor(obj))
        if obj.docstring is not None:
            told = SEE_ALSO.sub(_as_list, obj.docstring.value)
            obj.docstring.value = ROLE.sub(_as_link, told)
