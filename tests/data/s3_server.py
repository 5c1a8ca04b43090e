"""A server of the S3 protocol in this process: enough for what Arrow asks, objects in memory."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

#: Signs of a request with these are taken; others are refused.
KEY_ID = "halfmasktest"


class Bucket:
    """Objects by bucket and name, with what was asked for them."""

    def __init__(self):
        self.objects: dict[str, tuple[bytes, datetime]] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[tuple[str, str]] = []
        #: Bytes of objects that were sent.
        self.sent = 0
        #: A request that this is true of fails: (method, name).
        self.refused = lambda _method, _name: False
        self.lock = threading.Lock()

    def put(self, name, data):
        with self.lock:
            self.objects[name] = (data, datetime.now(UTC))

    def names(self, under=""):
        with self.lock:
            return sorted(n for n in self.objects if n.startswith(under) and not n.endswith("/"))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A header and its body in one packet: else each answer waits for 40 ms.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    bucket: Bucket

    def log_message(self, *_words):
        """Say nothing."""

    def handle_expect_100(self):
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def _asked(self):
        parts = urlsplit(self.path)
        name = unquote(parts.path).lstrip("/")
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body = _unchunked(body)
        self.bucket.requests.append((self.command, name))
        return name, parse_qs(parts.query, keep_blank_values=True), body

    def _chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            self.bucket.sent += len(body)

    def _fail(self, status, code):
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
        self._answer(status, text.encode())

    def _is_refused(self, name):
        signed = KEY_ID in self.headers.get("Authorization", "")
        if signed and not self.bucket.refused(self.command, name):
            return False
        self._fail(403, "AccessDenied")
        return True

    def do_HEAD(self):
        name, _query, _body = self._asked()
        if self._is_refused(name):
            return
        found = self.bucket.objects.get(name)
        if found is None and "/" in name.rstrip("/"):
            self._answer(404)
        elif found is None:
            self._answer(200)
        else:
            self._answer(200, Content_Length=str(len(found[0])), **_facts(found))

    def do_GET(self):
        name, query, _body = self._asked()
        if self._is_refused(name):
            return
        if "list-type" in query:
            self._list(name, query)
            return
        found = self.bucket.objects.get(name)
        if found is None:
            self._fail(404, "NoSuchKey")
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None:
            self._answer(200, found[0], **_facts(found))
            return
        first, last = map(int, asked.groups())
        piece = found[0][first : last + 1]
        where = f"bytes {first}-{first + len(piece) - 1}/{len(found[0])}"
        self._answer(206, piece, Content_Range=where, **_facts(found))

    def _list(self, bucket, query):
        bucket = bucket.rstrip("/")
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        rows, groups = [], set()
        with self.bucket.lock:
            objects = sorted(self.bucket.objects.items())
        for full, found in objects:
            home, _, name = full.partition("/")
            if home != bucket or not name.startswith(prefix):
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                groups.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            when = found[1].strftime("%Y-%m-%dT%H:%M:%S.000Z")
            rows.append(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(found[0])}</Size>"
                f"<LastModified>{when}</LastModified></Contents>"
            )
        rows += [f"<CommonPrefixes><Prefix>{escape(it)}</Prefix></CommonPrefixes>" for it in groups]
        text = (
            "<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>"
            f"<KeyCount>{len(rows)}</KeyCount>{''.join(rows)}</ListBucketResult>"
        )
        self._answer(200, text.encode(), Content_Type="application/xml")

    def do_PUT(self):
        name, query, body = self._asked()
        if self._is_refused(name):
            return
        if "uploadId" in query:
            self.bucket.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = body
        else:
            self.bucket.put(name, body)
        self._answer(200, ETag=_tag(body))

    def do_POST(self):
        name, query, body = self._asked()
        if self._is_refused(name):
            return
        if "uploads" in query:
            number = str(len(self.bucket.uploads))
            self.bucket.uploads[number] = {}
            text = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId>"
            self._answer(200, f"{text}</InitiateMultipartUploadResult>".encode())
        elif "uploadId" in query:
            parts = self.bucket.uploads.pop(query["uploadId"][0])
            self.bucket.put(name, b"".join(parts[n] for n in sorted(parts)))
            text = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
            self._answer(200, text.encode())
        else:
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                self.bucket.objects.pop(f"{name.rstrip('/')}/{key}", None)
            self._answer(200, b"<DeleteResult></DeleteResult>")

    def do_DELETE(self):
        name, _query, _body = self._asked()
        if self._is_refused(name):
            return
        self.bucket.objects.pop(name, None)
        self._answer(204)


def _facts(found):
    when = found[1].strftime("%a, %d %b %Y %H:%M:%S GMT")
    return {"ETag": _tag(found[0]), "Last_Modified": when}


def _tag(data):
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _unchunked(body):
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if not length:
            break
        data, body = data + body[:length], body[length + 2 :]
    return data


@contextmanager
def s3_server():
    """Serve a bucket; yield it and its address."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bucket, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(address):
    """Return the variables of the environment by which Arrow finds the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }
