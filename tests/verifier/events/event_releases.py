"""Outputs of events with their manifests, and what changes them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from halfmask.events import EventPolicy, SecretTable, run_events, stage_of
from halfmask.events.report import Reporting
from halfmask.events.streams import open_sink, open_source
from halfmask.vault import KeyFile, Vault

POLICY = """
halfmask-events = 1
release = "visits"
[stream]
time = "time"
entity = "user"
zone = "UTC"
[[rule]]
path = "time"
name = "date"
do = "coarsen-time"
every = "15 minutes"
zone = "Europe/Berlin"
[[rule]]
path = "seen"
do = "coarsen-time"
every = "1 hour"
zone = "UTC"
jitter = "1 minute"
[[rule]]
path = "month"
do = "coarsen-time"
every = "1 quarter"
zone = "UTC"
write = "date"
[[rule]]
path = "user"
name = "who"
do = "token"
[[rule]]
path = "mail"
do = "hash"
bits = 30
[[rule]]
path = "zip"
do = "mask"
first = 2
length = 3
[[rule]]
path = "price"
do = "round"
step = 0.05
units = [" EUR"]
[[rule]]
path = "size"
do = "round"
significant = 2
[[rule]]
path = "weight"
do = "noise"
how = "add"
law = "uniform"
scale = 3
per = "event"
low = 0
decimals = 1
[[rule]]
path = "lines[].sku"
name = "ref"
do = "sequence"
scope = "event"
[[rule]]
path = "lines[].n"
do = "recode"
table = "amounts"
[[rule]]
path = "stock.*"
names = "hash"
do = "round"
decimals = 0
[[rule]]
path = "age"
do = "generalize"
hierarchy = { intervals = [10] }
level = 1
[[rule]]
path = "note"
do = "free-text"
[[rule]]
path = "ok"
do = "keep"
when = { path = "ok", is = true }
"""
TABLES = {"amounts": SecretTable(kind="recode", values={"1": 1, "10": 11})}


def visits(count):
    """Return events, with a field that no rule names."""
    return [
        {
            "time": f"2014-09-{1 + i % 28:02}T22:{i % 60:02}:55",
            "seen": f"2014-09-04T{i % 24:02}:17:03Z",
            "month": f"2014-0{1 + i % 9}-17",
            "user": f"SECRET-{i % 11}",
            "mail": f"a{i}@example.org",
            "zip": f"4500{i % 90}",
            "price": f"{i}.97 EUR",
            "size": i * 137,
            "weight": i + 0.5,
            "lines": [{"sku": f"s{j * i % 5}", "n": (1, 10, 7)[j]} for j in range(i % 4)],
            "stock": {f"SECRET-{i}": i + 0.4},
            "age": i % 80,
            "note": f"write to a{i}@example.org or call",
            "ok": i % 3 == 0,
            "SECRETFIELD": {"a": i},
        }
        for i in range(count)
    ]


def run_of(folder, policy, events, *, out, tables):
    """Run a policy over events in a folder; return the output, its reports beside it."""
    vault = Vault.create(folder / "vault", lock=KeyFile.create(folder / "key"))
    rules = EventPolicy.from_toml(policy)
    source = folder / "in.jsonl"
    source.write_bytes(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    sink, stage = open_sink(f"{folder}/{out}"), stage_of(rules)
    beside = Reporting(rules, sink, stage)
    summary = run_events(
        rules,
        beside.watching(open_source(source)),
        sink,
        vault=vault,
        tables=tables,
        stage=stage,
        on_error="skip",
    )
    beside.write(summary)
    return folder / out.rstrip("/")


def manifest_of(out):
    """Return a manifest as objects."""
    return json.loads(out.with_name(out.name + ".manifest.json").read_text())


def change_manifest(out, *place, value):
    """Write the manifest with one thing in it replaced."""
    told = inner = manifest_of(out)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    out.with_name(out.name + ".manifest.json").write_text(json.dumps(told))


def rewrite(out, lines, **changes):
    """Write lines and a manifest that states their hash, as somebody would who changes both."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    out.write_bytes(data)
    told = manifest_of(out)
    told["details"] |= {key: changes.pop(key) for key in changes.keys() & told["details"].keys()}
    told |= changes
    told["files"][0] |= {
        "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "rows": len(lines)
    }  # fmt: skip
    seen = Counter(data.splitlines())
    told["details"]["risk"] |= {
        "events": len(lines), "unique_events": sum(count == 1 for count in seen.values())
    }  # fmt: skip
    out.with_name(out.name + ".manifest.json").write_text(json.dumps(told))


GUARANTEED = """
halfmask-events = 1
release = "guaranteed"
[stream]
time = "time"
entity = "user"
zone = "UTC"
[window]
every = "1 month"
zone = "UTC"
[[rule]]
path = "user"
do = "token"
[[rule]]
path = "zip"
do = "keep"
[[guarantee]]
kind = "distinct"
paths = ["zip"]
k = 2
fails = "field"
"""


CELLS = """
halfmask-events = 1
release = "cells"
[stream]
time = "time"
entity = "user"
zone = "UTC"
[window]
every = "1 month"
zone = "UTC"
[[rule]]
path = "zip"
do = "mask"
first = 1
length = 1
[[aggregate]]
by = { area = "zip" }
count = "n"
min-entities = 2
measure = [{ name = "sum", do = "sum", path = "size", of = "original" }]
"""


FEW = [{"time": "2014-09-04T10:00:00", "user": f"u{i % 4}", "zip": str(i % 3), "size": i}
       for i in range(24)]  # fmt: skip
