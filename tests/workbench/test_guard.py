"""Only the user's own pages and address bar are answered, and each answer binds the browser."""

from __future__ import annotations

import asyncio
import hmac
import re
from contextlib import suppress

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from halfmask.workbench._guard import HEADERS, REPORT_POLICY, PageGuard

PORT, TOKEN, BOUND = 4_711, "t0ken_-x", 1_000
ORIGIN = f"http://127.0.0.1:{PORT}"
OWN = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}


class Panic(BaseException):
    """As polars raises it."""


async def page(_):
    return PlainTextResponse("inside", headers={"cache-control": "public"})


async def save(request):
    return PlainTextResponse(f"{len(await request.body())} bytes")


async def lenient(request):
    """Takes a body and says that all went well, whatever happened."""
    with suppress(Exception):
        await request.body()
    return PlainTextResponse("all well")


async def fail(_):
    raise ValueError("CANARY")


async def panic(_):
    raise Panic("CANARY")


async def fail_late(_):
    async def rows():
        yield b"first"
        raise ValueError("CANARY")

    return StreamingResponse(rows())


@pytest.fixture
def application():
    return Starlette(
        routes=[
            Route("/", page),
            Route("/data", page),
            Route("/fail", fail),
            Route("/panic", panic),
            Route("/late", fail_late),
            Route("/report/adult", page),
            Route("/save", save, methods=["POST"]),
            Route("/lenient", lenient, methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("halfmask.workbench", "static")])),
        ]
    )


class Clock:
    """A clock that stands until it is set."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def guard(application, clock):
    return PageGuard(application, token=TOKEN, port=PORT, most_bytes=BOUND, clock=clock)


def ask(guard, path="/data", method="GET", *, headers=None, origin=ORIGIN, **more):
    """Send one request, with exactly these headers and what HTTP needs."""

    async def send():
        transport = httpx.ASGITransport(app=guard)
        async with httpx.AsyncClient(transport=transport, base_url=origin) as client:
            return await client.request(method, path, headers=headers, **more)

    return asyncio.run(send())


def enter(guard, token=TOKEN):
    return ask(guard, "/enter", "POST", headers=OWN, data={"token": token})


@pytest.fixture
def cookie(guard):
    """The header of a browser that has entered."""
    return {"cookie": enter(guard).headers["set-cookie"].partition(";")[0]}


def test_the_token_becomes_a_cookie(guard):
    entered = enter(guard)

    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie, _, attributes = entered.headers["set-cookie"].partition("; ")
    assert set(attributes.lower().split("; ")) == {"httponly", "path=/", "samesite=strict"}
    assert TOKEN not in cookie
    assert ask(guard, headers={"cookie": cookie}).text == "inside"


def test_the_token_opens_once(guard, cookie):
    again = enter(guard)

    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert "once" in again.text
    assert ask(guard, headers=cookie).text == "inside", "who has entered stays inside"
    inside = ask(guard, "/enter", "POST", headers={**cookie, **OWN}, data={"token": TOKEN})
    assert (inside.status_code, inside.headers["location"]) == (303, "/")


@pytest.mark.parametrize(
    "wrong", ["", "t0ken", f"{TOKEN}x", "None", "ä", TOKEN.upper(), "x" * 2_000 + f"#{TOKEN}"]
)
def test_another_token_opens_nothing_and_uses_nothing_up(guard, wrong):
    assert enter(guard, wrong).status_code == 403
    assert enter(guard).status_code == 303


def test_the_whole_address_can_be_pasted(guard):
    assert enter(guard, f" {ORIGIN}/#{TOKEN} ").status_code == 303


def test_the_token_is_taken_from_a_form_alone(guard):
    """A GET changes nothing, and an address would be kept in a history."""
    assert ask(guard, f"/enter?token={TOKEN}", headers=OWN).status_code == 401
    assert ask(guard, f"/enter?token={TOKEN}", "POST", headers=OWN).status_code == 403
    assert enter(guard).status_code == 303


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/", "GET", 200), ("/data", "GET", 401), ("/save", "POST", 401), ("/nothing", "GET", 401)],
)
def test_without_a_cookie_the_way_in_is_named(guard, path, method, status):
    answer = ask(guard, path, method, headers=OWN)

    assert answer.status_code == status
    assert "inside" not in answer.text
    assert "the address that the terminal shows" in answer.text
    assert re.search(r'<form method="post" action="/enter"', answer.text)
    assert '<label for="token">' in answer.text


@pytest.mark.parametrize(
    "given",
    [
        "",
        f"halfmask-{PORT}=",
        f"halfmask-{PORT}={TOKEN}",
        "halfmask={}",
        f"halfmask-{PORT + 1}={{}}",
    ],
)
def test_another_cookie_opens_nothing(guard, cookie, given):
    secret = cookie["cookie"].partition("=")[2]

    assert ask(guard, headers={"cookie": given.format(secret)}).status_code == 401


def test_style_and_script_need_no_cookie(guard):
    script = ask(guard, "/static/enter.js")

    assert script.status_code == 200
    assert "/static/enter.js" in ask(guard, "/").text
    for path in ("/static", "/static/%2e%2e/data", "/static/%2e%2e/_guard.py", "/Static/enter.js"):
        assert ask(guard, path).status_code in {401, 404}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_the_names_of_this_machine_are_answered(guard, cookie, host):
    assert ask(guard, headers={**cookie, "host": f"{host}:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", "127.0.0.1:",
     f"127.0.0.1:{PORT}.evil.example", f"evil.example@127.0.0.1:{PORT}", ""],
)  # fmt: skip
def test_another_name_is_refused(guard, cookie, host):
    """A name of the attacker's that leads to 127.0.0.1 makes the page theirs (DNS rebinding)."""
    for path in ("/", "/data", "/static/enter.js"):
        answer = ask(guard, path, headers={**cookie, "host": host})
        assert answer.status_code == 403
        assert "inside" not in answer.text


def test_two_names_are_refused(guard, cookie):
    names = [("host", f"127.0.0.1:{PORT}"), ("host", "evil.example"), *cookie.items()]

    assert ask(guard, headers=names).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "nonsense"])
def test_requests_of_other_sites_are_refused(guard, cookie, site):
    """The cookie may come along: another port of this machine is the same site."""
    navigation = {
        "sec-fetch-site": site,
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    }

    assert ask(guard, headers={**cookie, **navigation}).status_code == 403
    assert ask(guard, "/save", "POST", headers={**cookie, **OWN, **navigation}).status_code == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_requests_of_the_own_site_are_answered(guard, cookie, site):
    assert ask(guard, headers={**cookie, "sec-fetch-site": site}).text == "inside"


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", f"https://127.0.0.1:{PORT}", "http://127.0.0.1",
     f"http://127.0.0.1:{PORT + 1}", f"http://localhost:{PORT}", f"{ORIGIN}.evil.example"],
)  # fmt: skip
def test_a_form_of_another_origin_is_refused(guard, cookie, origin):
    """A browser that says no more than the origin must be stopped by that alone."""
    refused = ask(guard, "/save", "POST", headers={**cookie, "origin": origin}, content=b"x")

    assert refused.status_code == 403
    assert ask(guard, headers={**cookie, "origin": origin}).status_code == 403
    other = ask(guard, "/enter", "POST", headers={"origin": origin}, data={"token": TOKEN})
    assert other.status_code == 403


def test_a_form_without_an_origin_needs_the_browsers_word(guard, cookie):
    assert ask(guard, "/save", "POST", headers=cookie).status_code == 403
    assert (
        ask(guard, "/save", "POST", headers={**cookie, "sec-fetch-site": "none"}).status_code == 403
    )
    own = {**cookie, "sec-fetch-site": "same-origin"}
    assert ask(guard, "/save", "POST", headers=own, content=b"abc").text == "3 bytes"


def test_the_origin_is_that_of_the_name_in_use(guard, cookie):
    at = f"localhost:{PORT}"
    headers = {**cookie, "host": at, "origin": f"http://{at}"}

    assert ask(guard, "/save", "POST", headers=headers).text == "0 bytes"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(guard, cookie, method):
    answer = ask(guard, method=method, headers={**cookie, **OWN})

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_websockets_are_closed(guard):
    said = []

    async def send(message):
        said.append(message)

    asyncio.run(guard({"type": "websocket", "path": "/", "headers": []}, None, send))

    assert said == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("path", "method", "more"),
    [("/", "GET", {}), ("/data", "GET", {}), ("/nothing", "GET", {}), ("/fail", "GET", {}),
     ("/static/enter.js", "GET", {}), ("/data", "PUT", {}), ("/data", "GET", {"host": "evil"}),
     ("/save", "POST", {"content-length": "9999"}), ("/enter", "POST", {})],
)  # fmt: skip
@pytest.mark.parametrize("inside", [True, False])
def test_every_answer_binds_the_browser(guard, cookie, path, method, more, inside):
    headers = {**OWN, **(cookie if inside else {}), **more}

    answer = ask(guard, path, method, headers=headers)

    assert {name: answer.headers.get_list(name) for name in HEADERS} == {
        name: [value] for name, value in HEADERS.items()
    }


def test_a_report_binds_the_browser_more_and_the_entry_page_can_be_used(guard, cookie):
    """Its own policy forbids forms, and with them the way in."""
    policies = [
        ask(guard, path, headers=headers).headers["content-security-policy"]
        for path, headers in (
            ("/report/adult", cookie),
            ("/report/adult", None),
            ("/report/none", cookie),
        )
    ]

    own = HEADERS["Content-Security-Policy"]
    assert policies == [REPORT_POLICY, own, own]
    assert "sandbox" in REPORT_POLICY
    assert "script" not in REPORT_POLICY


def test_the_policy_lets_no_text_of_a_page_run():
    rules = dict(
        each.strip().split(" ", 1) for each in HEADERS["Content-Security-Policy"].split(";")
    )

    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["form-action"] == "'self'"
    assert not re.search(r"unsafe|\*|https?:", HEADERS["Content-Security-Policy"])


def test_the_own_pages_keep_the_policy(guard):
    text = ask(guard, "/").text

    assert not re.search(r"<style|style=|\son\w+=|<script(?! src=)|javascript:", text)


async def in_parts(total, part=100):
    for _ in range(total // part):
        yield b"x" * part


@pytest.mark.parametrize("path", ["/save", "/lenient"])
def test_a_body_over_the_bound_is_refused_in_words(guard, cookie, path):
    """Where its length is given, and where it isn't; and the rest of it is read and dropped."""
    headers = {**cookie, **OWN}
    read = []

    async def body():
        async for each in in_parts(5 * BOUND):
            read.append(each)
            yield each

    for content in (b"x" * (BOUND + 1), body()):
        answer = ask(guard, path, "POST", headers=headers, content=content)
        assert answer.status_code == 413
        assert "larger" in answer.text
        assert "all well" not in answer.text
    assert len(read) == 50


def test_a_length_over_the_bound_is_refused_before_the_pages_see_it(guard, cookie):
    headers = {**cookie, **OWN, "content-length": str(BOUND + 1)}

    assert ask(guard, "/save", "POST", headers=headers, content=b"short").status_code == 413


def test_a_body_within_the_bound_is_taken(guard, cookie):
    headers = {**cookie, **OWN}

    for content in (b"x" * BOUND, in_parts(BOUND)):
        assert ask(guard, "/save", "POST", headers=headers, content=content).text == "1000 bytes"


def test_no_body_is_read_without_a_cookie(guard):
    """Another user of the machine could send without end."""

    read = []

    async def body():
        read.append(1)
        yield b"x"

    headers = {**OWN, "cookie": "halfmask=x"}
    assert ask(guard, "/save", "POST", headers=headers, content=body()).status_code == 401
    assert not read


def test_of_a_token_little_is_read(guard):
    read = []

    async def body():
        async for each in in_parts(50 * BOUND):
            read.append(1)
            yield each

    assert ask(guard, "/enter", "POST", headers=OWN, content=body()).status_code == 403
    assert len(read) < 20


@pytest.mark.parametrize("path", ["/fail", "/panic"])
def test_a_failure_names_its_type_and_no_cell(guard, cookie, path, caplog, capfd):
    answer = ask(guard, path, headers=cookie)

    assert answer.status_code == 500
    assert {"/fail": "ValueError", "/panic": "Panic"}[path] in answer.text
    assert "CANARY" not in answer.text + caplog.text + "".join(capfd.readouterr())


def test_a_failure_after_the_first_byte_breaks_the_answer_off(guard, cookie, caplog):
    """No page of words may stand in the middle of a file, and no end that looks like one."""
    said = []

    async def send(message):
        said.append(message)

    async def receive():
        await asyncio.Event().wait()

    headers = {**cookie, "host": f"127.0.0.1:{PORT}"}
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/late",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(guard(scope, receive, send))

    assert [each.get("body") for each in said] == [None, b"first"]
    assert said[-1]["more_body"]
    assert "CANARY" not in caplog.text


def test_it_knows_how_long_nobody_asked(guard, clock, cookie):
    clock.now += 50
    assert guard.idle_seconds == 50

    ask(guard, headers=cookie)
    assert guard.idle_seconds == 0


@pytest.mark.parametrize("path", ["/", "/data", "/static/enter.js"])
def test_who_isnt_inside_keeps_nothing_awake(guard, clock, path):
    clock.now += 50

    ask(guard, path)

    assert guard.idle_seconds == 50


def test_a_running_job_counts_as_work(application, clock):
    running = [True]
    guard = PageGuard(
        application,
        token=TOKEN,
        port=PORT,
        most_bytes=BOUND,
        working=lambda: running[0],
        clock=clock,
    )
    clock.now += 50
    assert guard.idle_seconds == 0

    running[0] = False
    clock.now += 7
    assert guard.idle_seconds == 7


def test_secrets_are_compared_in_constant_time(guard, monkeypatch):
    compared = []

    def compare(*both):
        compared.append(both)
        return True

    monkeypatch.setattr(hmac, "compare_digest", compare)

    assert enter(guard, "x").status_code == 303
    assert ask(guard, headers={"cookie": "a=b"}).text == "inside"
    assert len(compared) >= 2
