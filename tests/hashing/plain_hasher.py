"""A hasher told again, cell by cell in plain Python, with another SipHash and another HKDF."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import math
import re
import struct
from itertools import pairwise

import siphash24  # type: ignore[import-not-found] # it ships no types

MATERIAL = bytes(range(32))


class Oracle:
    """What the page on the wire format says of hashing, and nothing of ours."""

    def __init__(self, material=MATERIAL, name="hasher", bits=22):
        self.material, self.name, self.bits = material, name, bits

    def key(self, purpose, column=""):
        words = (b"halfmask/secret/1/key", f"hash/{self.name}/{purpose}".encode(), column.encode())
        info = b"".join(len(word).to_bytes(8, "big") + word for word in words)
        info += (16).to_bytes(8, "big")
        extracted = hmac.new(bytes(32), self.material, hashlib.sha256).digest()
        return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()[:16]

    def hash(self, message, purpose, column=""):
        key = self.key(purpose, column)
        return int.from_bytes(siphash24.siphash24(message, key=key).digest(), "little")

    def cell(self, cell):
        """Return the message of a category's cell."""
        if isinstance(cell, str):
            return cell.encode()
        if isinstance(cell, bytes):
            return cell
        if isinstance(cell, float) and not (cell.is_integer() and -(2**63) <= cell < 2**63):
            return struct.pack("<d", cell)
        if isinstance(cell, dt.datetime):
            since = cell.replace(tzinfo=cell.tzinfo or dt.UTC) - dt.datetime(
                1970, 1, 1, tzinfo=dt.UTC
            )
            cell = since // dt.timedelta(microseconds=1)
        elif isinstance(cell, dt.date):
            cell = (cell - dt.date(1970, 1, 1)).days
        return (int(cell) % 2**64).to_bytes(8, "little")

    def category(self, cell, column, purpose="value"):
        if cell is None or cell != cell:  # noqa: PLR0124 # NaN
            return self.hash(b"", "missing", column)
        return self.hash(self.cell(cell), purpose, column)

    def bin(self, number, column, edges):
        if number is None or math.isnan(number):
            return self.hash(b"", "missing", column)
        return self.hash(self.cell(sum(edge <= number for edge in edges)), "bin", column)

    def log_bin(self, number, column, bins_per_octave):
        if number is None or math.isnan(number):
            return self.hash(b"", "missing", column)
        (bits,) = struct.unpack("<Q", struct.pack("<d", number + 0.0))
        code = bits >> (52 - int(math.log2(bins_per_octave)))
        return self.hash(self.cell(code), "bin", column)

    def crossed(self, hashes, columns):
        message = b"".join(it.to_bytes(8, "little") for it in hashes)
        listed = json.dumps(list(columns), ensure_ascii=False, separators=(",", ":"))
        return self.hash(message, "interaction", listed)

    def runs(self, text, column, low, high, purpose="word"):
        if text is None:
            return [self.hash(b"", "missing", column)]
        words = re.findall(r"[A-Za-z0-9_\u0080-\U0010ffff]+", text)
        words = [re.sub("[A-Z]", lambda it: it[0].lower(), word) for word in words]
        clean = "".join(f" {word}" for word in words) + (" " if words else "")
        units, mark = (words, " ") if purpose == "word" else (list(clean), "")
        return [
            self.hash(mark.join(units[at : at + size]).encode(), purpose, column)
            for size in range(low, high + 1)
            for at in range(len(units) - size + 1)
        ]

    def members(self, members, column):
        if members is None:
            return [self.hash(b"", "missing", column)]
        return sorted({self.category(it, column, "member") for it in members})

    def index(self, hashed):
        return hashed % 2**self.bits

    def sign(self, hashed):
        return -1.0 if hashed >> 63 else 1.0

    def row(self, hashes):
        return sorted(self.index(it) for it in hashes)


def rows_of(hashed):
    """Return the sorted indices of each row."""
    bounds, indices, _ = hashed.flat()
    return [sorted(indices[a:b].tolist()) for a, b in pairwise(bounds)]
