"""The grid of an exploration: one policy with other methods, parameters, recodings and limits."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields, replace
from itertools import product
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import HalfmaskError, ParameterError
from halfmask._validation import number_between
from halfmask.anonymize import METHODS, RECODINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from halfmask.microdata._policy import Policy

#: What stands in the place of k by default.
USUAL_K = (2, 5, 10, 20, 50)
#: A larger grid isn't drawn from.
MOST_POLICIES = 10**9
#: The limit of suppression that is tried by default, next to the policy's own and to none.
USUAL_SUPPRESSION = 0.02
OWNER = "explore"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPolicy:
    """One policy of a grid, or why it can't be.

    Parameters
    ----------
    number
        Its number; 0 is the policy that was given.
    name
        What it is called: its method, parameters, recoding and limit of suppression.
    method, recoding, max_suppression
        How classes are found and written, and the share of rows that may be left out.
    parameters
        The parameters of guarantees that the grid varies, by their names.
    policy
        The policy; ``None`` if its parts don't go together.
    why
        Why it can't be, or why the table can't keep it; empty where it can.
    is_node
        Whether it is the given policy at fixed levels.
    """

    number: int
    name: str
    method: str
    recoding: str
    max_suppression: float
    parameters: Mapping[str, float]
    policy: Policy | None
    why: str = ""
    is_node: bool = False

    @property
    def file(self) -> str:
        """The name of its policy file."""
        return f"{self.number:03d}-{self.name}.toml"

    @property
    def stated(self) -> str:
        """The parameters in words, such as ``k = 10``."""
        return ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())

    def to_dict(self) -> dict[str, object]:
        """Return what is varied, and why it can't be where it can't, for JSON."""
        return {
            "number": self.number,
            "name": self.name,
            "method": self.method,
            "recoding": self.recoding,
            "max_suppression": self.max_suppression,
            "parameters": dict(self.parameters),
            **({"why": self.why} if self.why else {"policy": f"policies/{self.file}"}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyGrid:
    """What is varied, in the order of the axes; see `halfmask.explore`."""

    methods: tuple[str, ...]
    recodings: tuple[str, ...]
    suppression: tuple[float, ...]
    vary: Mapping[str, tuple[float, ...]]
    seconds: float

    @classmethod
    def of(
        cls,
        policy: Policy,
        *,
        k: Sequence[int] | None,
        vary: Mapping[str, Sequence[float]] | None,
        methods: Sequence[str] | None,
        recodings: Sequence[str] | None,
        max_suppression: Sequence[float] | None,
        search_seconds: float,
    ) -> PolicyGrid:
        """Return the grid around a policy; what isn't given takes its usual values."""
        own = float(policy.suppression.max_fraction)
        limits = (0.0, own, USUAL_SUPPRESSION) if max_suppression is None else max_suppression
        number_between(0.0, inf, owner=OWNER, low_open=True, search_seconds=search_seconds)
        for limit in limits:
            number_between(0.0, 1.0, owner=OWNER, high_open=True, max_suppression=limit)
        return cls(
            methods=_chosen("methods", methods, METHODS, usual=METHODS),
            recodings=_chosen("recodings", recodings, RECODINGS, usual=_usual_recodings(policy)),
            suppression=_listed("max_suppression", limits),
            vary=_varied(policy, k, vary or {}),
            seconds=search_seconds,
        )

    def policies(
        self,
        policy: Policy,
        accepts: Callable[[Policy], object],
        *,
        at_most: int,
        random_state: int,
    ) -> tuple[list[GridPolicy], int]:
        """Return the given policy and others of the grid, and how many there are in all."""
        given = self._given(policy, accepts)
        found, known = [given], {given.policy}
        pairs: list[tuple[str, str]] = []
        for method, recoding in product(self.methods, self.recodings):
            made = _made(policy, method, recoding, given.max_suppression, {}, self.seconds, accepts)
            if made.why:
                name = f"{method}-{recoding}"
                found.append(replace(made, number=len(found), name=name))
            else:
                pairs.append((method, recoding))
        axes = (pairs, self.suppression, *self.vary.values())
        n_policies = prod(map(len, axes))
        if n_policies > MOST_POLICIES:
            raise ParameterError(
                f"The grid has {n_policies:,} policies; at most {MOST_POLICIES:,} are allowed.",
                hint="Give fewer values of parameters.",
            )
        accepted = 1
        for number in _numbers(n_policies, at_most, random_state):
            if accepted == at_most:  # one was drawn in case that the given policy is among them
                break
            (method, recoding), limit, *values = _at(number, axes)
            asked = dict(zip(self.vary, values, strict=True))
            made = _made(policy, method, recoding, limit, asked, self.seconds, accepts)
            if made.policy is None or made.policy not in known:
                known.add(made.policy)
                accepted += 1
                found.append(replace(made, number=len(found)))
        return found, n_policies

    def _given(self, policy: Policy, accepts: Callable[[Policy], object]) -> GridPolicy:
        method, recoding = policy.method.named, policy.recoding.named
        limit = float(policy.suppression.max_fraction)
        asked = {
            name: each.parameters[name.rpartition(".")[2]]
            for name in self.vary
            for each in reversed(policy.guarantee_sections)
            if _is_meant(name, each.named, each.parameters)
        }
        why = ""
        try:
            accepts(policy)
        except HalfmaskError as error:
            why = error.what
        return GridPolicy(
            why=why,
            number=0,
            name=_called(method, recoding, limit, asked),
            method=method,
            recoding=recoding,
            max_suppression=limit,
            parameters=asked,
            policy=policy,
        )


def _numbers(n: int, at_most: int, random_state: int) -> list[int]:
    """Return the numbers of policies of a grid: all, or some at random."""
    if n <= at_most:
        return list(range(n))
    drawn: list[int] = (
        np.random.default_rng(random_state).choice(n, at_most, replace=False).tolist()
    )
    return drawn


def _at(number: int, axes: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the values of a policy of the grid, the last axis the fastest."""
    values = []
    for axis in reversed(axes):
        number, place = divmod(number, len(axis))
        values.append(axis[place])
    return values[::-1]


def _made(
    policy: Policy,
    method: str,
    recoding: str,
    limit: float,
    parameters: Mapping[str, float],
    seconds: float,
    accepts: Callable[[Policy], object],
) -> GridPolicy:
    """Return a policy of the grid, or why there is none."""
    made, why = None, ""
    try:
        made = policy.changed(
            method=_method(policy.method, method, seconds),
            recoding=_section(policy.recoding, recoding),
            suppression={"max_fraction": limit},
            guarantees=list(_guarantees(policy, parameters)),
        )
        accepts(made)
    except HalfmaskError as error:
        why = error.what
    return GridPolicy(
        number=-1,  # given where it is listed
        name=_called(method, recoding, limit, parameters),
        method=method,
        recoding=recoding,
        max_suppression=limit,
        parameters=parameters,
        policy=made,
        why=why,
    )


def _method(own: Any, name: str, seconds: float) -> dict[str, Any]:  # noqa: ANN401 # as below
    """Return the section of a method; a search that the policy doesn't limit gets its seconds."""
    section = _section(own, name)
    kind: Any = METHODS[name]
    known = {entry.name for entry in fields(kind)}
    if "seconds" in known and not {"seconds", "steps"} & set(section):
        section["seconds"] = seconds
    return section


def _section(own: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 # a Choice of any kind
    """Return the section of a method or recoding: the policy's own, or one of defaults."""
    if own.named != name:
        return {"name": name}
    section: dict[str, Any] = own.model_dump(mode="json", exclude_none=True)
    return section


def _guarantees(policy: Policy, parameters: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    for each in policy.guarantee_sections:
        section = each.model_dump(mode="json", exclude_none=True)
        for name, value in parameters.items():
            if _is_meant(name, each.named, section):
                section[name.rpartition(".")[2]] = value
        yield section


def _is_meant(name: str, model: str, known: Collection[str]) -> bool:
    """Return whether ``k``, or ``k-anonymity.k``, is a parameter of a guarantee."""
    of, _, parameter = name.rpartition(".")
    return of in {"", model} and parameter in known


def _called(method: str, recoding: str, limit: float, parameters: Mapping[str, float]) -> str:
    """Return the name of a policy, which is one of a file, too."""
    given = [f"{name.rpartition('.')[2]}{value:g}" for name, value in parameters.items()]
    return "-".join([method, *given, recoding, f"suppress{100 * limit:g}"])


def _usual_recodings(policy: Policy) -> tuple[str, ...]:
    """Return the policy's own recoding, and nodes of hierarchies where a column has one."""
    has_tree = any(
        each.hierarchy is not None and each.role == "quasi_identifier"
        for each in policy.columns.values()
    )
    return tuple(dict.fromkeys([policy.recoding.named, *(["level"] if has_tree else [])]))


def _varied(
    policy: Policy, k: Sequence[int] | None, vary: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, ...]]:
    """Return the values of each parameter, after a check that a guarantee has it."""
    sections = policy.guarantee_sections
    has_k = any("k" in each.parameters for each in sections)
    given: dict[str, Sequence[float]] = dict(vary)
    if k is not None or (has_k and "k" not in given):
        given = {"k": USUAL_K if k is None else k, **given}
    known = [name for each in sections for name in each.parameters]
    for name in given:
        if not any(_is_meant(name, each.named, each.parameters) for each in sections):
            raise ParameterError(
                f"No guarantee of the policy has a parameter {name!r} to vary.",
                hint=_near(name, known),
            )
    return {name: _listed(name, values) for name, values in given.items()}


def _chosen(
    what: str, given: Sequence[str] | None, known: Collection[str], *, usual: Collection[str]
) -> tuple[str, ...]:
    if given is None:
        return tuple(usual)
    names = _listed(what, given)
    for name in names:
        if name not in known:
            raise ParameterError(
                f"The {what!r} parameter of {OWNER} has {name!r}, which isn't there.",
                hint=_near(name, known),
            )
    return names


def _listed(what: str, given: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(given, str) or not len(given):
        raise ParameterError(f"The {what!r} parameter of {OWNER} must be a list, not empty.")
    return tuple(dict.fromkeys(given))


def _near(wrong: object, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(wrong), known, n=1)
    listed = ", ".join(repr(name) for name in dict.fromkeys(known))
    return f"Did you mean {close[0]!r}?" if close else f"There are {listed}."
