"""Where a client goes, and how it knows the service and is known."""

from __future__ import annotations

import datetime as dt
import ssl
import threading
from http.server import ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from halfmask import ParameterError, TrainerError
from halfmask.trainer.client import TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    QUICK,
    Handler,
    StandIn,
    rows_of,
)


@pytest.mark.parametrize(
    "url",
    [
        "", "trainer.example", "ftp://trainer.example", "https://", "https://:8443", "http://[::1",
        "https://user:CANARY@trainer.example", "https://trainer.example/?token=CANARY",
        "https://trainer.example:CANARY", "https://trainer.example#CANARY",
        "http://trainer.example", "http://10.0.0.1", "http://127.0.0.1.trainer.example",
    ],
)  # fmt: skip
def test_an_address_that_won_t_do_is_refused_without_being_shown(url):
    with pytest.raises(ParameterError) as caught:
        TrainerClient(url)

    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["https://trainer.example/", "http://127.0.0.1:80", "http://[::1]:80", "http://localhost"],
)
def test_an_address_that_will_do(url):
    assert repr(TrainerClient(url)) == f"TrainerClient({url.rstrip('/')!r})"


def test_plain_http_to_elsewhere_takes_a_word():
    TrainerClient("http://trainer.example", plain_http=True)


@pytest.mark.parametrize("token", ["", "short", "CANARY with spaces", "CANARY-line\n", "ü" * 9])
def test_a_token_that_can_t_be_sent_is_refused_without_being_shown(token):
    with pytest.raises(ParameterError) as caught:
        TrainerClient("https://trainer.example", token=token)

    assert "CANARY" not in str(caught.value)


def test_verification_can_t_be_turned_off():
    with pytest.raises(ParameterError, match="may be an attacker's"):
        TrainerClient("https://trainer.example", verify=False)


@pytest.mark.parametrize("files", ["nothing", ["nothing", "nothing"], [], "self"])
def test_a_certificate_that_can_t_be_read_is_refused(files):
    given = __file__ if files == "self" else files

    with pytest.raises(ParameterError, match="PEM"):
        TrainerClient("https://trainer.example", certificate=given)
    with pytest.raises(ParameterError, match="PEM"):
        TrainerClient("https://trainer.example", verify=__file__)


def _certificate(folder, name, signer=None):
    """Write a certificate for this machine and its key; return both, to sign others with."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    issuer, signing = (subject, key) if signer is None else signer
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()),
            critical=False,
        )
        .sign(signing, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return subject, key


@pytest.fixture
def behind_tls(tmp_path):
    """A service that shows a certificate, and wants one; the folder of all certificates."""
    authority = _certificate(tmp_path, "authority")
    for name in ("service", "client"):
        _certificate(tmp_path, name, authority)
    _certificate(tmp_path, "stranger")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "service.pem", tmp_path / "service.key")
    context.load_verify_locations(tmp_path / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    stand_in = StandIn()

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """A client without a certificate is no news."""

    server = Quiet(("127.0.0.1", 0), type("Mine", (Handler,), {"stand_in": stand_in}))
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stand_in.url = f"https://localhost:{server.server_address[1]}"
    yield stand_in, tmp_path
    server.shutdown()
    server.server_close()
    thread.join()


def test_both_know_each_other_by_their_certificates(behind_tls):
    service, folder = behind_tls

    with TrainerClient(
        service.url,
        verify=folder / "authority.pem",
        certificate=(folder / "client.pem", folder / "client.key"),
        retry_policy=QUICK,
    ) as client:
        client.push("m", [rows_of(30)])

    assert service.rows_learned() == 30


@pytest.mark.parametrize(
    ("verify", "shown"),
    [("stranger", "client"), (True, "client"), ("authority", "stranger"), ("authority", None)],
)
def test_who_isn_t_known_isn_t_talked_to(behind_tls, verify, shown):
    service, folder = behind_tls
    certificate = None if shown is None else (folder / f"{shown}.pem", folder / f"{shown}.key")

    with (
        TrainerClient(
            service.url,
            verify=True if verify is True else folder / f"{verify}.pem",
            certificate=certificate,
            retry_policy=QUICK,
        ) as client,
        pytest.raises(TrainerError, match="certificates"),
    ):
        client.push("m", [rows_of(30)])

    assert service.seen == []
