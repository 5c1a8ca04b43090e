"""Transform: a policy with its secret and tables, which turns lines of events into others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError, KeyMismatchError, ParameterError
from halfmask.events.actions import RecodeMany, Resources
from halfmask.events.block._array_rebuild import ArrayRebuild, ContainerRule, field_path
from halfmask.events.block._bad_lines import Limits
from halfmask.events.block._block import Block, scan_block
from halfmask.events.block._buffers import BUFFERS
from halfmask.events.block._levels import absent
from halfmask.events.block._naming import Naming, OpenElements
from halfmask.events.block._path_tree import PathTree
from halfmask.events.block._writing import Changed
from halfmask.events.running._context import BlockView, Context
from halfmask.events.running._prepared_rules import PathRules, RuleAt, find_rules
from halfmask.events.running._run_summary import Tally
from halfmask.events.secrets._keys import EventKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.block._values import Values
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.secrets._tables import SecretTable
    from halfmask.vault import Secret

_FORMAT = "halfmask events state"
#: Raised whenever the same secret, policy and lines would give other bytes.
TRANSFORM_VERSION = 3
#: How many places that stars found are kept ready for the next block.
MOST_PLACES = 1 << 13
#: At how many of them sequences may number values: these are known as long as the stream.
MOST_NUMBERED = 1 << 17


class Transform:
    r"""Turns lines of events into lines that say what a policy lets them.

    Parameters
    ----------
    policy
        The rules for each event.
    secret
        What all keys follow from.
    tables
        Secret tables, by the names that the policy has for them.
    folder
        Where hierarchy files are looked for; by default next to the policy's file.
    limits
        Beyond what a line is refused.

    Raises
    ------
    ParameterError
        If a table isn't there, or is of another kind, or names fields that no rule writes.
    PolicyError, HierarchyError
        If a hierarchy can't be read.

    Notes
    -----
    **Guarantees.** Only columns that a rule made are written: a field that no rule names can't be.
    The same policy, secret, tables and lines give the same bytes, wherever blocks end and whether a
    transform went on from the state of another; other secrets or releases give other pseudonyms.

    **Edge cases.** Where stars find more places in one block than `Limits.paths`, lines that have
    further ones are refused and counted, and which these are does depend on where blocks end. What
    a rule can't do is counted in `tally`, and the value isn't written. After an error the state
    isn't that of any line: go on from bytes that `state` gave before.

    One transform works on one block at a time. `scan` and `Changed.written` don't touch its state,
    so that they may run in other threads for other blocks; `change` takes blocks in their order.

    Examples
    --------
    >>> from halfmask.events import EventPolicy
    >>> from halfmask.vault import Secret
    >>> policy = EventPolicy.from_toml('''
    ... halfmask-events = 1
    ... release = "orders-2014"
    ... [[rule]]
    ... path = "products[]"
    ... name = "group"
    ... [[rule]]
    ... path = "products[].id"
    ... name = "ref"
    ... do = "sequence"
    ... scope = "event"
    ... ''')
    >>> transform = Transform(policy, secret=Secret.from_bytes(bytes(32)))
    >>> transform.apply(b'{"products": [{"id": "ksm6573er"}, {"id": "ka1234"}], "to": "Rinat"}')
    b'{"group":[{"ref":1},{"ref":2}]}\n'
    """

    def __init__(
        self,
        policy: EventPolicy,
        *,
        secret: Secret,
        tables: Mapping[str, SecretTable] | None = None,
        folder: str | FilePath | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.policy = policy
        self.tally = Tally()
        self.limits = limits or Limits()
        self._secret = secret
        self._supplies = Resources(
            keys=EventKeys(secret=secret, release=policy.release),
            tables=dict(tables or {}),
            path="",
            domain="",
            zone=policy.stream.zone,
            entity=policy.stream.entity,
            scopes=policy.stream.paths(),
            folder=policy.folder if folder is None else FilePath(folder),
        )
        for name, kind in policy.tables().items():
            self._supplies.table(name, kind)
        self._tree = PathTree(policy.paths())
        self._whole = policy.containers()
        self._containers = [self._container(number) for number in sorted(self._whole)]
        self._rules: dict[str, PathRules] = {}
        self._most_places = MOST_PLACES
        self._restored: dict[str, Any] = {}
        self._naming = Naming(policy, keys=self._supplies.keys)
        self._open = OpenElements(
            rule for number, rule in enumerate(policy.rules) if number not in self._whole
        )
        for rule in policy.rules:
            if rule.place.concrete:
                self._at(rule.place.place)  # raises where an action can't be made ready

    def apply(self, data: bytes) -> bytes:
        """Return what becomes of a block of whole lines.

        Parameters
        ----------
        data
            Whole lines, each an event.

        Raises
        ------
        DataError
            If the block is too large, or a rule with ``otherwise = "stop"`` can't do its work.
        """
        return self.change(self.scan(data)).written()

    def scan(
        self,
        data: bytes | memoryview,
        *,
        first_line: int | None = None,
        own: NDArray[np.uint8] | None = None,
    ) -> Block:
        """Return a block of whole lines as columns; needs no state.

        Rules that look at nothing but a block's own values are applied here already.

        Parameters
        ----------
        data
            Lines.
        first_line
            The number of the first; by default that behind all lines that were changed so far.
        own
            As of `scan_block`.
        """
        first = self.tally.lines + 1 if first_line is None else first_line
        lease = BUFFERS.lease()
        block = scan_block(data, self._tree, self.limits, first_line=first, lease=lease, own=own)
        if not self._containers:
            self._work_ahead(block)
        return block

    def _work_ahead(self, block: Block) -> None:
        """Let those rules do their work that look at nothing but the block."""
        view = BlockView(read=block.values, events=block.n_events, first_event=0, room=block.room)
        for path in block.paths:
            rules = self._rules.get(path)
            if rules is not None and rules.rules and rules.is_local:
                notes: list[tuple[int, Context]] = []
                done = partial(_append, notes)
                block.ahead[path] = rules.apply(block.values(path), view, done), notes

    def change(self, block: Block) -> Changed:
        """Return a block after its rules; blocks must come in their order.

        Parameters
        ----------
        block
            Scanned events.

        Raises
        ------
        DataError
            If a rule with ``otherwise = "stop"`` can't do its work: the message says which rule,
            why, and in which line.
        """
        refused = np.zeros(block.n_events, np.bool_)

        def done(number: int, context: Context) -> None:
            self._note(number, context, refused, block)

        grown = ArrayRebuild(
            block=block, rules=self._containers, first_event=self.tally.events, done=done
        )
        columns: dict[str, Values] = {}
        met = [path for path in block.paths if self._at(path).rules]
        nobody = {
            field: level for level, field in self._open.beneath(block.levels) if field not in met
        }
        shape, order = self._naming.shape([*met, *nobody])
        for path in order:
            if path in nobody:
                columns[path] = absent(grown.level(nobody[path]))
            elif path in block.ahead:
                columns[path], notes = block.ahead[path]
                for number, context in notes:
                    done(number, context)
            else:
                columns[path] = self._at(path).apply(grown.values(path), grown.view, done)
        self._count(block, refused)
        self._forget()
        return Changed(
            shape=shape, columns=columns, events=block.levels[""], wanted=~refused, room=block.room
        )

    def state(self) -> bytes:
        """Return what the transform knows of the stream so far, for `restore`.

        It holds values of the stream, such as those that were numbered: seal it in the vault.
        """
        states = {path: [rule.state() for rule in at.rules] for path, at in self._rules.items()}
        known = {
            path: rules
            for path, rules in states.items()
            if any(each is not None for rule in rules for each in rule)
        }
        form = {
            **self._header(),
            "tally": self.tally.to_json(),
            "rules": dict(sorted({**self._restored, **known}.items())),
        }
        return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()

    def supplied(self) -> str:
        """Return what the secret tables and hierarchy files are known again by; secret.

        Raises
        ------
        DataError
            If a hierarchy file can't be read.
        """
        digest = hashlib.sha256()
        for name in sorted(self.policy.tables()):
            table = self._supplies.tables[name]
            content = [name, table.kind, table.values]
            digest.update(json.dumps(content, default=str, sort_keys=True).encode() + b"\n")
        for file in self.policy.files():
            try:
                data = ((self._supplies.folder or FilePath()) / file).read_bytes()
            except OSError:
                raise DataError("A hierarchy file can't be read.") from None
            digest.update(hashlib.sha256(data).digest())
        return digest.hexdigest()

    def restore(self, state: bytes) -> None:
        """Go on where a transform of the same policy, secret and tables was.

        Parameters
        ----------
        state
            What `state` returned.

        Raises
        ------
        DataError
            If the bytes hold no state, a damaged one, or one of another version.
        KeyMismatchError
            If it is of another policy or secret.
        """
        try:
            form = json.loads(state)
            header = {key: form[key] for key in self._header()}
            tally, rules = Tally.from_json(form["tally"]), dict(form["rules"])
        except (ValueError, TypeError, KeyError):
            raise DataError("The bytes hold no state of a transform, or a damaged one.") from None
        wanted = self._header()
        if (header["format"], header["version"]) != (_FORMAT, TRANSFORM_VERSION):
            raise DataError(
                "The state is of a version that this halfmask doesn't read.",
                hint="This version gives numbers other pseudonyms. Start again with "
                "[[restart=True|--restart]]; set another release in the policy to "
                "keep the old output apart.",
            )
        if header != wanted:
            raise KeyMismatchError("The state is of another policy or secret.")
        self.tally = tally
        self._restored = rules
        self._rules.clear()

    def _header(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "version": TRANSFORM_VERSION,
            "policy": self.policy.sha256,
            "secret": self._secret.id,
        }

    def _at(self, path: str) -> PathRules:
        """Return the rules of a place; made ready when it is first met."""
        found = self._rules.get(path)
        if found is None:
            rules = self.policy.rules
            numbers = find_rules(rules, path, self._whole)
            made = [
                RuleAt.of(number, rules[number], self._supplied(path, rules[number].path))
                for number in numbers
            ]
            saved = self._restored.pop(path, None)
            if saved is not None:
                if not isinstance(saved, list) or len(saved) != len(made):
                    raise DataError("The state of a transform is damaged.")
                for rule, state in zip(made, saved, strict=True):
                    rule.restore(state)
            found = self._rules[path] = PathRules(path=path, rules=made)
        return found

    def _forget(self) -> None:
        """Let go of places that stars found, except for those where values were numbered."""
        if len(self._rules) <= self._most_places:
            return
        fixed = {rule.place.place for rule in self.policy.rules if rule.place.concrete}
        kept = {path: at for path, at in self._rules.items() if at.is_lasting or path in fixed}
        if len(kept) > len(fixed) + MOST_NUMBERED:
            raise DataError(
                f"Stars have found more than {MOST_NUMBERED:,} places whose values are numbered by "
                "a sequence.",
                hint="Each keeps its numbers. Where names of fields are values, use another action "
                "for what stars find, such as token.",
            )
        # What is kept may be many already: then there must be room for others, too.
        self._rules, self._most_places = kept, len(kept) + MOST_PLACES

    def _supplied(self, path: str, domain: str) -> Resources:

        return replace(self._supplies, path=path, domain=domain)

    def _container(self, number: int) -> ContainerRule:
        rule = self.policy.rules[number]
        path, action = rule.place.place, rule.steps[0]
        splitter = None
        if isinstance(action, RecodeMany):
            splitter = action.splitter(self._supplied(path, rule.path))
            followed = {found.place for found in self._tree.paths}
            if any(field_path(path, name) not in followed for name in splitter.fields()):
                raise ParameterError(
                    f"The secret table {action.table!r} sets or multiplies fields that no rule of "
                    "the policy writes.",
                    hint='Add a rule for each, such as do = "keep".',
                )
        return ContainerRule(number=number, path=path, when=rule.when, splitter=splitter)

    def _note(
        self, number: int, context: Context, refused: NDArray[np.bool_], block: Block
    ) -> None:
        """Count what a rule couldn't do, and do what it says of that."""
        if context.failed is None:
            return
        for reason, count in context.failures.items():
            self.tally.failures[number + 1, reason] += count
        otherwise = self.policy.rules[number].otherwise
        if otherwise == "refuse-event":
            refused |= context.failed
        elif otherwise == "stop":
            line = int(block.lines[np.flatnonzero(context.failed)[0]])
            reasons = ", ".join(sorted(context.failures))
            raise DataError(
                f"Rule {number + 1} of the policy can't do its work in line {line}: {reasons}.",
                hint='With otherwise = "drop" such values are left out and counted.',
            )

    def _count(self, block: Block, refused: NDArray[np.bool_]) -> None:
        held = int(np.count_nonzero(refused))
        self.tally.lines += block.n_lines
        self.tally.events += block.n_events
        self.tally.held += held
        self.tally.written += block.n_events - held
        for bad in block.bad:
            self.tally.bad[str(bad.reason)] += 1


def _append(notes: list[tuple[int, Context]], number: int, context: Context) -> None:
    notes.append((number, context))
