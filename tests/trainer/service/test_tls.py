"""TLS, and clients that need a certificate of their own."""

from __future__ import annotations

import datetime as dt
import ssl

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from halfmask import ParameterError
from halfmask.trainer.service import serve
from halfmask.trainer.service._serving import tls_context
from trainer.service.stage import Trainer  # type: ignore[import-not-found] # beside, no package


def named(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


class Authority:
    """Issues certificates, and writes them and their keys as PEM."""

    def __init__(self, folder, name):
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._issue(name, self._key.public_key(), authority=True)
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def _issue(self, name, public, *, authority=False):
        now = dt.datetime.now(dt.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(self._name))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        )
        return made.sign(self._key, hashes.SHA256())

    def issue(self, name):
        key = ec.generate_private_key(ec.SECP256R1())
        paths = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        paths[0].write_bytes(
            self._issue(name, key.public_key()).public_bytes(serialization.Encoding.PEM)
        )
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths


def trusting(authority, own=None):
    context = ssl.create_default_context(cafile=authority.path)
    context.check_hostname = False
    if own is not None:
        context.load_cert_chain(*own)
    return context


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "ours")


def test_a_service_speaks_tls(tmp_path, authority):
    certificate, key = authority.issue("service")
    tls = tls_context(certificate, key, None)
    with Trainer(tmp_path / "t", tls=tls, verify=trusting(authority)) as trainer:
        trainer.create()
        stranger = Authority(tmp_path, "another")
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"https://127.0.0.1:{trainer.port}/health", verify=trusting(stranger))
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{trainer.port}/health")


def test_clients_need_a_certificate_where_an_authority_is_given(tmp_path, authority):
    clients, strangers = Authority(tmp_path, "clients"), Authority(tmp_path, "strangers")
    certificate, key = authority.issue("service")
    tls = tls_context(certificate, key, clients.path)
    own = trusting(authority, clients.issue("anna"))
    with Trainer(tmp_path / "t", tls=tls, verify=own) as trainer:
        trainer.create()
        address = f"https://127.0.0.1:{trainer.port}/health"
        for other in (None, strangers.issue("eve")):
            with pytest.raises(httpx.TransportError):
                httpx.get(address, verify=trusting(authority, other))
        assert trainer.client.get("/v1/models").status_code == 401, "a token is needed, too"


def test_a_certificate_that_is_none_is_refused_without_its_path(tmp_path, authority):
    good = authority.issue("service")
    wrong = tmp_path / "CANARY.pem"
    wrong.write_text("no certificate")

    for given in (
        (wrong, good[1], None),
        (good[0], authority.issue("other")[1], None),
        (tmp_path / "CANARY.none", good[1], None),
        (*good, wrong),
    ):
        with pytest.raises(ParameterError) as caught:
            tls_context(*given)
        assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [{"certificate": "c"}, {"key": "k"}, {"client_authority": "a"}, {"port": 70_000}]
)
def test_half_of_what_tls_needs_is_refused(tmp_path, wrong):
    with pytest.raises(ParameterError):
        serve(tmp_path / "t", **wrong)
    assert not (tmp_path / "t").exists()
