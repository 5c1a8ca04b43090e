"""Events in the shapes of well-known platforms, invented here, and what in them is what."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

N = 200
START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
PEOPLE = [f"{first}.{last}" for first in ("ann", "bob", "cy", "dee", "eli") for last in
          ("ash", "birch", "cedar", "dogwood", "elm", "fir", "gum", "holly")]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How events of a platform look, and which of their fields are the time and the entity."""

    event: Callable[[random.Random, int], dict[str, Any]]
    time: str
    entity: str

    def lines(self) -> bytes:
        rng = random.Random(1)
        return b"".join(json.dumps(self.event(rng, i)).encode() + b"\n" for i in range(N))


def moment(i: int, *, after: int = 0) -> str:
    """Return when the event of a number is, as text."""
    return (START + dt.timedelta(seconds=97 * i + after)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _epoch(i: int) -> int:
    return int(START.timestamp()) + 97 * i


def _hex(rng: random.Random, n: int) -> str:
    return "".join(rng.choices("0123456789abcdef", k=n))


def _stripe(rng: random.Random, i: int) -> dict[str, Any]:
    return {
        "id": f"evt_{_hex(rng, 20)}",
        "object": "event",
        "api_version": "2025-09-30",
        "created": _epoch(i),
        "data": {
            "object": {
                "id": f"ch_{_hex(rng, 20)}",
                "object": "charge",
                "amount": rng.randrange(100, 90_000),
                "created": _epoch(i) - rng.randrange(90),
                "currency": rng.choice(["usd", "eur"]),
                "customer": f"cus_{rng.randrange(60):06d}",
                "payment_intent": f"pi_{rng.randrange(300):06d}",
                "paid": rng.random() < 0.9,
            }
        },
        "livemode": True,
        "pending_webhooks": rng.randrange(3),
        "request": {"id": f"req_{_hex(rng, 12)}", "idempotency_key": _hex(rng, 16)},
        "type": rng.choice(["charge.succeeded", "charge.failed"]),
    }


def _cloudtrail(rng: random.Random, i: int) -> dict[str, Any]:
    who = rng.choice(PEOPLE)
    number = PEOPLE.index(who)
    return {
        "eventVersion": "1.08",
        "userIdentity": {
            "type": "IAMUser",
            "principalId": f"AIDA{number:012d}",
            "arn": f"arn:aws:iam::123456789012:user/{who}",
            "accountId": "123456789012",
            "accessKeyId": f"AKIA{number % 30:012d}",
            "userName": who,
        },
        "eventTime": moment(i),
        "eventSource": rng.choice(["s3.amazonaws.com", "ec2.amazonaws.com"]),
        "eventName": rng.choice(["GetObject", "PutObject", "RunInstances"]),
        "awsRegion": rng.choice(["eu-central-1", "us-east-1"]),
        "sourceIPAddress": f"10.{rng.randrange(9)}.{rng.randrange(9)}.{rng.randrange(99)}",
        "userAgent": f"aws-cli/2.{rng.randrange(90)} Python/3.{rng.randrange(9)}",
        "requestParameters": {"bucketName": f"bucket-{rng.randrange(70)}"},
        "requestID": _hex(rng, 16).upper(),
        "eventID": _hex(rng, 32),
        "recipientAccountId": "123456789012",
    }


def _github(rng: random.Random, i: int) -> dict[str, Any]:
    who = rng.randrange(40)
    repo = rng.randrange(90)
    return {
        "id": str(30_000_000_000 + i),
        "type": rng.choice(["PushEvent", "WatchEvent", "IssuesEvent"]),
        "actor": {"id": 5_000 + who, "login": PEOPLE[who], "url": f"https://a/users/{PEOPLE[who]}"},
        "repo": {"id": 700 + repo, "name": f"org/repo-{repo}", "url": f"https://a/repos/{repo}"},
        "payload": {"action": "started", "push_id": 9_000_000 + i, "size": rng.randrange(4)},
        "public": True,
        "created_at": moment(i),
    }


def _segment(rng: random.Random, i: int) -> dict[str, Any]:
    who = rng.randrange(40)
    return {
        "anonymousId": f"{_hex(random.Random(who // 2), 32)}",
        "context": {
            "app": {"name": "shop", "version": "2.3.1", "build": "2026-01-01"},
            "device": {"id": f"dev-{who % 25}", "model": rng.choice(["A1", "B2"])},
            "ip": f"10.0.{who}.{rng.randrange(99)}",
            "library": {"name": "analytics.js", "version": "2.11.1"},
            "locale": "en-US",
            "userAgent": f"Mozilla/5.0 (X{rng.randrange(60)})",
        },
        "event": rng.choice(["Viewed", "Bought"]),
        "messageId": f"ajs-{_hex(rng, 32)}",
        "originalTimestamp": moment(i),
        "properties": {"price": rng.randrange(100) / 4, "sku": f"S{rng.randrange(80)}"},
        "receivedAt": moment(i, after=3),
        "sentAt": moment(i, after=2),
        "timestamp": moment(i, after=1),
        "type": "track",
        "userId": f"u{who:05d}",
        "version": 2,
    }


def _kubernetes(rng: random.Random, i: int) -> dict[str, Any]:
    who = rng.choice(PEOPLE)
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": _hex(rng, 32),
        "stage": "ResponseComplete",
        "requestURI": f"/api/v1/namespaces/n{rng.randrange(9)}/pods/p{rng.randrange(200)}",
        "verb": rng.choice(["get", "list", "update"]),
        "user": {"username": who, "uid": f"{PEOPLE.index(who)}", "groups": ["dev"]},
        "sourceIPs": [f"10.1.{rng.randrange(9)}.{rng.randrange(99)}"],
        "userAgent": f"kubectl/v1.{rng.randrange(30)}.{rng.randrange(9)}",
        "objectRef": {
            "resource": "pods",
            "namespace": f"n{rng.randrange(9)}",
            "name": f"p{rng.randrange(200)}",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": rng.choice([200, 201, 404])},
        "requestReceivedTimestamp": moment(i),
        "stageTimestamp": moment(i, after=1),
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }  # fmt: skip


def _nginx(rng: random.Random, i: int) -> dict[str, Any]:
    return {
        "time_iso8601": moment(i),
        "remote_addr": f"10.2.{rng.randrange(9)}.{rng.randrange(40)}",
        "remote_user": rng.choice(PEOPLE),
        "request": f"GET /p/{rng.randrange(300)} HTTP/1.1",
        "status": str(rng.choice([200, 304, 404])),
        "body_bytes_sent": str(rng.randrange(90_000)),
        "request_time": f"0.{rng.randrange(999):03d}",
        "http_referrer": f"https://x.example/{rng.randrange(50)}",
        "http_user_agent": f"Mozilla/5.0 (X{rng.randrange(60)})",
        "request_id": _hex(rng, 32),
    }


def _slack(rng: random.Random, i: int) -> dict[str, Any]:
    ts = f"{_epoch(i)}.{rng.randrange(10**6):06d}"
    return {
        "token": "xoxb",
        "team_id": "T061EG9R6",
        "api_app_id": "A0MDYCDME",
        "event": {
            "type": "message",
            "channel": f"C{rng.randrange(12):08d}",
            "user": f"U{rng.randrange(40):08d}",
            "text": " ".join(rng.choices(["we", "ship", "it", "on", "monday", "maybe"], k=9)),
            "ts": ts,
            "event_ts": ts,
        },
        "type": "event_callback",
        "event_id": f"Ev{_hex(rng, 10).upper()}",
        "event_time": _epoch(i),
    }


def _azure(rng: random.Random, i: int) -> dict[str, Any]:
    return {
        "time": moment(i),
        "operationName": "Sign-in activity",
        "category": "SignInLogs",
        "resultType": str(rng.choice([0, 50126])),
        "callerIpAddress": f"10.3.{rng.randrange(9)}.{rng.randrange(9)}",
        "correlationId": _hex(rng, 32),
        "identity": rng.choice(PEOPLE).replace(".", " ").title(),
        "level": "4",
        "location": rng.choice(["DE", "US"]),
    }


def _google_analytics(rng: random.Random, i: int) -> dict[str, Any]:
    return {
        "event_date": moment(i * 9)[:10].replace("-", ""),
        "event_timestamp": _epoch(i * 9) * 1_000_000 + rng.randrange(10**6),
        "event_name": rng.choice(["page_view", "purchase"]),
        "user_pseudo_id": f"{rng.randrange(40)}.{rng.randrange(9)}",
        "user_first_touch_timestamp": _epoch(-9_000 * rng.randrange(40)) * 1_000_000,
    }


def _calls(rng: random.Random, i: int) -> dict[str, Any]:
    """Return a shape where all is named less well: a date, its time, and whom an e-mail names."""
    return {
        "date": moment(i * 900)[:10],
        "opened_at": _epoch(-rng.randrange(900)),
        "answered": moment(i * 900, after=rng.randrange(600)),
        "client_ip": f"10.4.{rng.randrange(9)}.{rng.randrange(9)}",
        "mail": f"{rng.choice(PEOPLE)}@example.com",
        "ticket_id": f"t{rng.randrange(80)}",
    }


SHAPES = {
    "azure": Shape(event=_azure, time="time", entity="identity"),
    "google-analytics": Shape(
        event=_google_analytics, time="event_timestamp", entity="user_pseudo_id"
    ),
    "calls": Shape(event=_calls, time="answered", entity="mail"),
    "stripe": Shape(event=_stripe, time="created", entity="data.object.customer"),
    "cloudtrail": Shape(event=_cloudtrail, time="eventTime", entity="userIdentity.userName"),
    "github": Shape(event=_github, time="created_at", entity="actor.login"),
    "segment": Shape(event=_segment, time="timestamp", entity="userId"),
    "kubernetes": Shape(event=_kubernetes, time="requestReceivedTimestamp", entity="user.username"),
    "nginx": Shape(event=_nginx, time="time_iso8601", entity="remote_user"),
    "slack": Shape(event=_slack, time="event_time", entity="event.user"),
}
