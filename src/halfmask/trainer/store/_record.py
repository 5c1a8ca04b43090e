"""One record of the write-ahead log: a head, the idempotency key, and the body as it came."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

#: magic, checksum of the head and key, checksum of the body, sequence number, first sequence
#: number of the group that was flushed with it, bytes of the body, rows, bytes of the key, kind,
#: and the id of the token that sent it.
HEAD = struct.Struct("<4sIIQQIIHH8s")
MAGIC = b"HMR1"
#: The kind of a record that holds rows which a client sent.
EXAMPLES = 1
#: The kind of a record of a rollback.
ROLLBACK = 2
#: The kind of a record that holds the rows which a guard judges by.
CANARIES = 3
#: Longer ones are none of ours: a torn length doesn't make a reader take all memory.
MAX_BODY = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is to be logged."""

    kind: int
    body: bytes
    checksum: int
    rows: int
    client: bytes
    key: bytes = b""

    def head(self, seq: int, group: int, salt: bytes) -> bytes:
        """Return the head under a sequence number, in the group that is flushed together.

        The salt is of the segment. No client knows it, so that no body can hold bytes that look
        like a record where a torn end is searched for one.
        """
        packed = HEAD.pack(
            MAGIC, 0, self.checksum, seq, group, len(self.body), self.rows, len(self.key),
            self.kind, self.client,
        )  # fmt: skip
        return MAGIC + struct.pack("<I", _checksum(packed, self.key, salt)) + packed[8:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a record, as it was read."""

    head_checksum: int
    checksum: int
    seq: int
    group: int
    body_bytes: int
    rows: int
    key_bytes: int
    kind: int
    client: bytes
    raw: bytes

    @classmethod
    def read(cls, raw: bytes) -> Head | None:
        """Return the head that bytes are, or None where they are none."""
        if len(raw) != HEAD.size or raw[:4] != MAGIC:
            return None
        _, head_checksum, checksum, seq, group, body, rows, key, kind, client = HEAD.unpack(raw)
        if body > MAX_BODY:
            return None
        return cls(
            head_checksum=head_checksum,
            checksum=checksum,
            seq=seq,
            group=group,
            body_bytes=body,
            rows=rows,
            key_bytes=key,
            kind=kind,
            client=client,
            raw=raw,
        )

    @property
    def size(self) -> int:
        """How many bytes the whole record has."""
        return HEAD.size + self.key_bytes + self.body_bytes

    def record(self, rest: bytes, salt: bytes) -> Record | None:
        """Return the record with the bytes after its head, or None where a checksum is wrong."""
        if len(rest) != self.key_bytes + self.body_bytes:
            return None
        key, body = rest[: self.key_bytes], rest[self.key_bytes :]
        if self.head_checksum != _checksum(self.raw, key, salt) or self.checksum != zlib.crc32(
            body
        ):
            return None
        return Record(
            seq=self.seq,
            group=self.group,
            entry=Entry(
                kind=self.kind,
                body=body,
                checksum=self.checksum,
                rows=self.rows,
                client=self.client,
                key=key,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An entry as it stands in the log, under its sequence number."""

    seq: int
    group: int
    entry: Entry

    def mark(self) -> Mark:
        """Return what is remembered of it without its body."""
        return Mark(
            seq=self.seq,
            kind=self.entry.kind,
            client=self.entry.client,
            key=self.entry.key,
            checksum=self.entry.checksum,
            size=len(self.entry.body),
            rows=self.entry.rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A record without its body: its identity."""

    seq: int
    kind: int
    client: bytes
    key: bytes
    checksum: int
    size: int
    rows: int


def _checksum(head: bytes, key: bytes, salt: bytes) -> int:
    return zlib.crc32(key, zlib.crc32(head[8:], zlib.crc32(salt)))
