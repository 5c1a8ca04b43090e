"""Hold a manifest against what a policy promises, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["differences", "promise_of"]

#: What a run counts, and no policy can say.
_COUNTED: Final = frozenset({"panes", "least-entities-of-the-run"})


def differences(manifest: Mapping[str, Any], promised: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each thing in which a manifest isn't what a policy promises."""
    if manifest["policy"] != promised["policy"]:
        yield "The manifest names another policy than the one that was given."
    if manifest["fields"] != promised["fields"]:
        yield "The fields of the manifest aren't those that the policy writes."
    if _promises(manifest["claims"]) != _promises(promised["claims"]):
        yield "The claims of the manifest aren't those that the policy makes."


def promise_of(claim: Mapping[str, Any]) -> str:
    """Return in words what a claim promises of the lines: how many, and of which fields.

    Examples
    --------
    >>> promise_of({"kind": "k-m", "k": 5, "m": 2, "fields": [["group", "[]", "ref"]]})
    'k = 5, m = 2 of group[].ref'
    """
    if "kind" in claim:
        m = "" if claim["m"] is None else f", m = {claim['m']}"
        return f"k = {claim['k']}{m} of {', '.join(map(_field, claim['fields']))}"
    least = [
        f"{claim[key]} {word}"
        for key, word in (("least-events", "events"), ("least-entities", "entities"))
        if claim[key] is not None
    ]
    return f"{' and '.join(least)} by {', '.join((claim['window'], *claim['by']))}"


def _field(steps: list[str]) -> str:
    return "".join(step if step == "[]" else f".{step}" for step in steps).removeprefix(".")


def _promises(said: Any) -> Any:  # noqa: ANN401 # what JSON held
    """Return what JSON held, without what a run counted."""
    if isinstance(said, Mapping):
        return {key: _promises(it) for key, it in said.items() if key not in _COUNTED}
    return [_promises(it) for it in said] if isinstance(said, list | tuple) else said
