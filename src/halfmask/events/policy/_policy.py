"""EventPolicy: what is released of each event, as a TOML file that may be published."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, Literal

import tomlkit
from pydantic import ConfigDict, Field

from halfmask._errors import PolicyError
from halfmask._policy_files import WrittenPolicy
from halfmask.data import atomic_file
from halfmask.events.actions import Erase, Generalize, RecodeMany
from halfmask.events.block._path_tree import OutputShape
from halfmask.events.block._paths import Path, Step
from halfmask.events.policy._policy_sections import RuleSection, StreamSection, place
from halfmask.events.policy._sections import EventSection, Text, table_of
from halfmask.events.policy._stage_sections import (
    OLD_KEYS,
    AggregateSection,
    GuaranteeSection,
    WindowSection,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.events.secrets._tables import TableKind


def original_paths(policy: EventPolicy) -> tuple[str, ...]:
    """Return the paths whose original values windows, aggregates and guarantees read."""
    if policy.window is None:
        return ()
    stream = policy.stream
    named = [stream.time, stream.entity, *([stream.session] if policy.guarantees else [])]
    measures = [measure for section in policy.aggregates for measure in section.measures]
    named += [measure.path for measure in measures if measure.of == "original"]
    return tuple(dict.fromkeys(path for path in named if path is not None))


def check_together(policy: EventPolicy) -> None:
    """Check that windows, aggregates and guarantees go with each other and with the rules."""
    if policy.window is None:
        if policy.aggregates or policy.guarantees:
            raise PolicyError(
                "[window] is lacking: aggregates and guarantees are of windows.",
                hint='Write [window] with every = "1 day" and zone = "UTC", say.',
            )
        return
    if policy.aggregates and policy.guarantees:
        raise PolicyError(
            "[[aggregate]] and [[guarantee]] can't stand in one policy: aggregates have minimum "
            "counts of their own, and no event is released."
        )
    if not policy.aggregates and not policy.guarantees:
        raise PolicyError("[window] is there, and neither [[aggregate]] nor [[guarantee]].")
    _check_stream(policy)
    released = {rule.place.place for rule in policy.rules if rule.steps and rule.names is None}
    for number, section in enumerate(policy.aggregates, start=1):
        wanted = [*section.by.values()]
        wanted += [measure.path for measure in section.measures if measure.of == "released"]
        _check_released(wanted, released, f"[[aggregate]] number {number}: ")
        _check_aggregate(policy, section, f"[[aggregate]] number {number}: ")
    for number, guarantee in enumerate(policy.guarantees, start=1):
        _check_released(guarantee.paths, released, f"[[guarantee]] number {number}: ")
    _check_several(policy.aggregates)


def _check_stream(policy: EventPolicy) -> None:
    places = policy.stream.paths()
    by_entity = [it for it in policy.aggregates if it.min_entities is not None]
    needed = ["time", *(["entity"] if by_entity or policy.guarantees else [])]
    for need in needed:
        if need not in places:
            raise PolicyError(
                f"the path of the {need} is needed for windows and minimum counts.",
                hint=f'Write {need} = "..." in [stream].',
            )
    for need in {"time", "entity", "session"} & places.keys():
        if place(places[need]).level:
            raise PolicyError(
                f"[stream]: the {need} must be a field of the event, not of an array's elements, "
                "where there are windows."
            )


def _check_released(paths: Iterable[str], released: set[str], where: str) -> None:
    for path in paths:
        if place(path).place not in released:
            raise PolicyError(
                f"{where}no rule says what becomes of {path!r}, whose released values it needs."
            )


def _check_aggregate(policy: EventPolicy, section: AggregateSection, where: str) -> None:
    try:
        section.level()
    except PolicyError as error:
        raise PolicyError(where + error.what.written, hint=error.hint) from None
    regrown = {policy.rules[number].place.place for number in policy.containers()}
    for measure in section.measures:
        level = place(measure.path).level
        if measure.of == "original" and any(level.startswith(path) for path in regrown):
            raise PolicyError(
                f"{where}the measure {measure.name!r} is of original elements of an array whose "
                "elements a rule leaves out or makes several.",
                hint="Measure released values, or keep the array unchanged.",
            )


def _check_several(sections: Iterable[AggregateSection]) -> None:
    sections = list(sections)
    names = [section.name for section in sections]
    if len(sections) > 1 and (None in names or len(set(names)) < len(names)):
        raise PolicyError("several [[aggregate]] need a 'name' each, no two the same.")
    for one, other in combinations(sections, 2):
        keys = [{place(path).place for path in it.by.values()} for it in (one, other)]
        if keys[0] <= keys[1] or keys[1] <= keys[0]:
            raise PolicyError(
                f"cells of the aggregates {one.name!r} and {other.name!r} are sums of each other: "
                "one that isn't written could be computed.",
                hint="Write totals = true in the finer one instead.",
            )


#: The release of a policy that was proposed and that nobody has named yet. Keys follow from the
#: release: two streams that ran under this word would have the same pseudonyms.
UNNAMED: Final = "name-this-release"


class EventPolicy(EventSection, WrittenPolicy):
    """Rules by path for each event. Fields without a rule are dropped.

    It holds paths, options and, in conditions and hierarchies, categories that the owner wrote
    there; no event and no secret.

    Attributes
    ----------
    version
        ``halfmask-events`` in the file: 1.
    release
        The word of this release's keys: pseudonyms of another release can't be joined to them.
    stream
        Where the time, tenant, session and entity of an event stand.
    rules
        ``[[rule]]`` in the file, one at least. Of several rules of one path, the first whose
        conditions hold does the work.
    window
        Windows of time, for aggregates and guarantees.
    aggregates, guarantees
        ``[[aggregate]]``: lines for many events together; ``[[guarantee]]``: what must hold of the
        events that are released. One of both kinds at most.

    Raises
    ------
    PolicyError
        If anything in it can't be: the message says where, what was got and what was probably
        meant. It never quotes a category.

    Notes
    -----
    **Guarantees.** A policy that could be made is consistent in itself: fields that are read can be
    reached, no two fields of the output share a name, sequences and noise know their scope and
    entity.

    Examples
    --------
    >>> policy = EventPolicy.from_toml('''
    ... halfmask-events = 1
    ... release = "orders-2014"
    ... [[rule]]
    ... path = "products[].id"
    ... name = "ref"
    ... do = "sequence"
    ... scope = "event"
    ... ''')
    >>> policy
    EventPolicy(release 'orders-2014', 1 rules)
    >>> policy.rules[0].weaknesses
    ('equality-leaking', 'frequency-leaking', 'order-leaking')
    """

    model_config = ConfigDict(title="A policy of events")
    file_kind = "halfmask-events"

    version: Literal[1] = Field(alias="halfmask-events")
    release: Text
    stream: StreamSection = Field(default_factory=StreamSection)
    rules: tuple[RuleSection, ...] = Field(alias="rule")
    window: WindowSection | None = None
    aggregates: tuple[AggregateSection, ...] = Field(default=(), alias="aggregate")
    guarantees: tuple[GuaranteeSection, ...] = Field(default=(), alias="guarantee")

    def to_toml(self) -> str:
        """Return the policy as TOML, without defaults; `from_toml` reads it."""
        return tomlkit.dumps(self._table())

    def save(self, path: str | FilePath) -> None:
        """Write the policy file, whole or not at all.

        Parameters
        ----------
        path
            The file to write.
        """
        with atomic_file(path) as file:
            file.write(self.to_toml().encode())

    @property
    def folder(self) -> FilePath | None:
        """Where it was loaded from; None if it wasn't."""
        return self._folder

    @property
    def sha256(self) -> str:
        """The hash of what the policy says, 64 hexadecimal digits.

        Comments, spaces, and whether a default is written don't matter; the order of rules does.
        """
        table = self._table()
        # Keys have their names of 0.1 here, so that its streams and manifests have the same hash.
        if "aggregate" in table:
            table["aggregate"] = [
                {OLD_KEYS.get(key, key): value for key, value in section.items()}
                for section in table["aggregate"]
            ]
        text = json.dumps(table, ensure_ascii=True, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def paths(self) -> tuple[Path, ...]:
        """Return the paths that must be followed in events."""
        texts = [rule.path for rule in self.rules if rule.steps]
        texts += [path for rule in self.rules for path in rule.reads()]
        needs = {need for rule in self.rules for it in rule.steps for need in it.needs()}
        texts += [path for name, path in self.stream.paths().items() if name in needs]
        texts += original_paths(self)
        return tuple(dict.fromkeys(Path.parse(text) for text in texts))

    def tables(self) -> dict[str, TableKind]:
        """Return the secret tables that are needed: names and kinds."""
        actions = [action for rule in self.rules for action in rule.steps]
        return dict(named for action in actions for named in action.tables())

    def files(self) -> tuple[str, ...]:
        """Return the hierarchy files that are needed, as the policy names them."""
        actions = [action for rule in self.rules for action in rule.steps]
        found = [action.hierarchy for action in actions if isinstance(action, Generalize)]
        found += [it for section in self.guarantees for it in section.hierarchies.values()]
        return tuple(sorted({str(it.file) for it in found if it.file is not None}))

    def containers(self) -> frozenset[int]:
        """Return which rules work on whole elements of arrays, rather than on values."""
        places = [rule.place for rule in self.rules]
        return frozenset(
            number
            for number, rule in enumerate(self.rules)
            if any(isinstance(it, RecodeMany) for it in rule.steps)
            or (
                any(isinstance(it, Erase) for it in rule.steps)
                and any(_beneath(other, places[number]) for other in places)
            )
        )

    def check_named(self) -> None:
        """Raise where the policy is a proposal whose release has no name yet.

        Raises
        ------
        PolicyError
            If it is.
        """
        if self.release == UNNAMED:
            raise PolicyError(
                "The policy's release has no name yet.",
                hint=f'Put a word of your own in the place of "{UNNAMED}", such as '
                'release = "orders-2014": the keys of its pseudonyms follow from it.',
            )

    def names(self) -> dict[str, str | None]:
        """Return the output name of each path without stars, in the order of rules."""
        found: dict[str, str | None] = {}
        for rule in self.rules:
            if rule.names is None:
                found[rule.place.place] = found.get(rule.place.place) or rule.name
        return found

    def model_post_init(self, context: object, /) -> None:
        """Check that the rules go together."""
        super().model_post_init(context)
        if not self.rules:
            raise PolicyError(
                "The policy has no [[rule]]: nothing would be released.",
                hint="Write one for each path that may.",
            )
        for number, rule in enumerate(self.rules, start=1):
            try:
                self._check(rule)
            except PolicyError as error:
                where = f"[[rule]] number {number}: {rule.path!r}: "
                raise PolicyError(where + error.what.written, hint=error.hint) from None
        OutputShape(self.names())  # raises where two fields have one name
        self._check_tables()
        check_together(self)

    def _check(self, rule: RuleSection) -> None:
        beneath = any(_beneath(other.place, rule.place) for other in self.rules)
        if not rule.steps and not beneath:
            raise PolicyError(
                "the key 'do' is lacking, and no rule is beneath the path.",
                hint='Write an action; do = "keep" releases it unchanged.',
            )
        erases = any(isinstance(action, Erase) for action in rule.steps)
        if erases and beneath and rule.place.steps[-1] is not Step.ELEMENT:
            raise PolicyError("it is erased, and rules beneath it write what is in it.")
        if erases and beneath and not rule.when:
            raise PolicyError("all elements are erased, and rules beneath write what is in them.")
        places = self.stream.paths()
        for need in (need for action in rule.steps for need in action.needs()):
            if need not in places:
                raise PolicyError(
                    f"an action needs the path of the {need}.",
                    hint=f'Write {need} = "..." in [stream]'
                    + (', or by = "..." in the rule.' if need == "entity" else "."),
                )

    def _check_tables(self) -> None:
        kinds: dict[str, TableKind] = {}
        for rule in self.rules:
            for name, kind in (named for action in rule.steps for named in action.tables()):
                if kinds.setdefault(name, kind) != kind:
                    raise PolicyError(
                        f"The secret table {name!r} can't be both of kind {kinds[name]!r} and "
                        f"{kind!r}."
                    )

    def _table(self) -> dict[str, Any]:
        stream = self.stream.model_dump(mode="json", exclude_none=True)
        return {
            "halfmask-events": self.version,
            "release": self.release,
            **({"stream": stream} if stream else {}),
            "rule": [rule.table() for rule in self.rules],
            **({} if self.window is None else {"window": table_of(self.window)}),
            **({"aggregate": list(map(table_of, self.aggregates))} if self.aggregates else {}),
            **({"guarantee": list(map(table_of, self.guarantees))} if self.guarantees else {}),
            **({"approval": approved} if (approved := self.approval.stated()) else {}),
        }

    def __eq__(self, other: object) -> bool:
        """Return whether both say the same; where they were read from doesn't matter."""
        return isinstance(other, EventPolicy) and self._table() == other._table()

    def __hash__(self) -> int:
        """Return a hash of what the policy says."""
        return hash(self.sha256)

    def __repr__(self) -> str:
        """Show how much the policy says; never a category of its conditions."""
        return f"EventPolicy(release {self.release!r}, {len(self.rules)} rules)"

    __str__ = __repr__


def _beneath(other: Path, path: Path) -> bool:
    steps = path.steps
    return len(other.steps) > len(steps) and other.steps[: len(steps)] == steps
