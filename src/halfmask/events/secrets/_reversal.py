"""Reversal: the holder of the vault turns pseudonyms of released events back."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from halfmask._errors import DataError, IntegrityError, ParameterError
from halfmask._progress import silent
from halfmask.events.actions import Recode, Sequence, Token
from halfmask.events.actions._token import reveal_token
from halfmask.events.block._block import scan_block
from halfmask.events.block._path_tree import OutputShape, PathTree
from halfmask.events.block._paths import Path
from halfmask.events.block._values import Kind, Values, read_text, written_text
from halfmask.events.block._words import SeenKinds, scalar_token
from halfmask.events.block._writing import write_block
from halfmask.events.running._checkpoint import CheckpointStore
from halfmask.events.running._event_run import sealed_tables
from halfmask.events.running._transforming import Transform
from halfmask.events.secrets._keys import EventKeys

if TYPE_CHECKING:
    from halfmask._progress import Progress
    from halfmask.events.block._words import Token as JsonToken
    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._policy_sections import RuleSection
    from halfmask.events.secrets._tables import SecretTable
    from halfmask.events.streams import Sink, Source
    from halfmask.vault import Vault

_Undo: TypeAlias = Callable[[Kind, bytes], "JsonToken | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """What was turned back, in counts.

    Parameters
    ----------
    events
        Released events that were read.
    values
        Values that were turned back, by the number of the rule from 1 on.
    unknown
        Values that weren't: the vault doesn't know them, by the number of the rule.
    rules
        Rules whose values can be turned back, by number; others keep the released value.
    """

    events: int
    values: Mapping[int, int]
    unknown: Mapping[int, int]
    rules: tuple[int, ...]


def reverse_events(
    policy: EventPolicy,
    source: Source,
    sink: Sink,
    *,
    vault: Vault,
    stream: str | None = None,
    tables: Mapping[str, SecretTable] | None = None,
    progress: Progress = silent,
) -> Reversed:
    """Turn the pseudonyms of released events back into their values.

    Parameters
    ----------
    policy
        The policy that released the events.
    source, sink
        The input with released events, and the output with original values. The output must not
        be released.
    vault
        The vault with the secret, the tables and the state of the stream.
    stream
        The stream's name in the vault; by default the release name in the policy.
    tables
        Secret tables; by default those of the vault.
    progress
        A function that is called with the share of work done.

    Raises
    ------
    DataError
        If the source can't be read, or a line is no event.
    KeyMismatchError
        If the stream in the vault has another policy or secret.
    ParameterError
        If the policy releases aggregates.

    Notes
    -----
    **Guarantees.** Reversed are tokens, sequence numbers over the stream, and values of secret
    tables that map no two values to the same one, if the path has one rule with this action only.
    Other fields keep their released value and name.

    **Edge cases.** Hashes, noise, shifts, rounded and coarse values can't be turned back, nor can
    numbers of sequences within an event, a session or a tenant. A recoded value comes back as a
    number if it looks like one. So does a token or number of a field that had texts and numbers,
    since it is the same for ``1042`` and ``"1042"``; ``1042.0`` comes back as ``1042``.
    Fields whose names stars found are left out.
    """
    if policy.aggregates:
        raise ParameterError("Aggregates can't be turned back: no event was released.")
    undoing = _Undoing(
        policy,
        vault=vault,
        stream=policy.release if stream is None else stream,
        tables=sealed_tables(policy, vault) if tables is None else tables,
    )
    sink.check()
    done = False
    try:
        sink.begin(None, b"", again=False)
        for chunk in source.chunks(None, threading.Event()):
            sink.write(undoing.lines(chunk.data, first_line=chunk.first_line))
            progress("turning back", source.share(chunk.position))
        sink.finish()
        done = True
    finally:
        sink.close(done=done)
    return undoing.summary()


class _Undoing:
    """What turns blocks of released lines back."""

    def __init__(
        self, policy: EventPolicy, *, vault: Vault, stream: str, tables: Mapping[str, SecretTable]
    ) -> None:
        self._keys = EventKeys(secret=vault.secret("events", create=False), release=policy.release)
        self._tables = tables
        self._state = _state_of(policy, vault, stream, tables)
        shape = OutputShape(policy.names())
        rules = [rule for rule in policy.rules if rule.steps and rule.names is None]
        self._paths = {_released(rule.place, shape): rule.place.place for rule in rules}
        shared = Counter(rule.place.place for rule in policy.rules if rule.steps)
        starred = any(rule.names is not None for rule in policy.rules)
        self._undo: dict[str, tuple[int, _Undo]] = {}
        for number, rule in enumerate(policy.rules, start=1):
            single = len(rule.steps) == 1 and shared[rule.place.place] == 1 and rule.place.concrete
            found = self._of(rule) if single and not starred else None
            if found is not None:
                self._undo[_released(rule.place, shape)] = number, found
        self._tree = PathTree(list(self._paths))
        self._shape = OutputShape(dict.fromkeys(self._paths))
        self._events = 0
        self._values: Counter[int] = Counter()
        self._unknown: Counter[int] = Counter()

    def lines(self, data: bytes, *, first_line: int) -> bytes:
        """Return lines with original values for released ones."""
        block = scan_block(data, self._tree, first_line=first_line)
        if block.bad:
            bad = block.bad[0]
            raise DataError(f"Line {bad.line} of the released events is no event: {bad.reason}.")
        self._events += block.n_events
        columns = {path: self._turned(path, block.values(path)) for path in self._paths}
        return write_block(
            self._shape, columns, events=block.levels[""], wanted=np.ones(block.n_events, np.bool_)
        )

    def summary(self) -> Reversed:
        """Return what was done."""
        return Reversed(
            events=self._events,
            values=dict(sorted(self._values.items())),
            unknown=dict(sorted(self._unknown.items())),
            rules=tuple(sorted(number for number, _ in self._undo.values())),
        )

    def _turned(self, path: str, values: Values) -> Values:
        if path not in self._undo:
            return values
        number, undo = self._undo[path]
        codes, tokens = values.distinct()
        found = [None if kind == Kind.NULL else undo(kind, token) for kind, token in tokens]
        counts = np.bincount(codes[codes >= 0], minlength=len(tokens))
        for (kind, _), turned, count in zip(tokens, found, counts.tolist(), strict=True):
            if kind != Kind.NULL:
                (self._unknown if turned is None else self._values)[number] += count
        pairs = zip(tokens, found, strict=True)
        return Values.from_tokens(values.level, codes, [new or old for old, new in pairs])

    def _of(self, rule: RuleSection) -> _Undo | None:
        """Return what undoes a rule; None if nothing does."""
        action = rule.steps[0]
        if isinstance(action, Token):
            return self._of_tokens(action.domain or rule.path, rule.place.place)
        if isinstance(action, Sequence) and action.scope == "stream":
            return self._of_numbers(rule.place.place)
        if isinstance(action, Recode):
            return self._of_table(action)
        return None

    def _of_tokens(self, domain: str, place: str) -> _Undo:
        state = self._state.get(place)
        seen = SeenKinds()
        seen.restore(state[0][0] if state else None)

        def undo(kind: Kind, token: bytes) -> JsonToken | None:
            if kind != Kind.STRING:
                return None
            try:
                was, word = reveal_token(read_text(token), keys=self._keys, domain=domain)
            except IntegrityError:
                return None
            return seen.turned(word) if was is Kind.STRING else (was, word)

        return undo

    def _of_numbers(self, place: str) -> _Undo:
        state = self._state.get(place)
        _, words, *more = state[0][0][0] if state and state[0][0] else ("", [])
        seen = SeenKinds()
        seen.restore(more[0] if more else None)

        def undo(kind: Kind, token: bytes) -> JsonToken | None:
            if kind != Kind.INTEGER or not 1 <= int(token[:20]) <= len(words):
                return None
            word = words[int(token) - 1]
            was, token = Kind(int(word[0])), word[1:].encode()
            return seen.turned(token) if was is Kind.STRING else (was, token)

        return undo

    def _of_table(self, action: Recode) -> _Undo | None:
        entries: dict[str, Any] = self._tables[action.table].entries()
        back: dict[JsonToken, str] = {token: word for word, token in entries.items()}
        other = None if action.other is None else scalar_token(action.other)
        if len(back) < len(entries) or other in back:
            return None

        def undo(kind: Kind, token: bytes) -> JsonToken | None:
            word = back.get((kind, token))
            return None if word is None else _as_json(word)

        return undo


def _state_of(
    policy: EventPolicy, vault: Vault, stream: str, tables: Mapping[str, SecretTable]
) -> dict[str, Any]:
    """Return what the vault knows of the rules, by path; nothing if there was no run yet."""
    found = CheckpointStore(vault, stream).load()
    if found is None:
        return {}
    transform = Transform(policy, secret=vault.secret("events", create=False), tables=tables)
    transform.restore(found.transform)  # raises where it is another policy's
    rules: dict[str, Any] = json.loads(found.transform)["rules"]
    return rules


def _released(place: Path, shape: OutputShape) -> str:
    """Return the path that a place has in the released events."""
    steps = []
    for end, step in enumerate(place.steps, start=1):
        key = shape.nodes[shape.places[Path(steps=place.steps[:end]).place]].key
        steps.append(json.loads(key[:-1]) if isinstance(step, str) else step)
    return Path(steps=tuple(steps)).place


def _as_json(word: str) -> JsonToken:
    """Return the value of a table's entry: its text says not which kind it was."""
    try:
        found = json.loads(word)
    except ValueError:
        found = word
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    token = scalar_token(found) if is_number else None
    return (token[0], word.encode()) if token else (Kind.STRING, written_text(word))
