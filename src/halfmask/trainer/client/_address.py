"""Where a service is, and by what a client knows it and is known."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from halfmask._errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,512}")


def checked_url(url: str, *, plain_http: bool) -> str:
    """Return the address of a service without a slash at its end."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # a port that is none raises
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not host:
        raise ParameterError("The address of a service must be like https://trainer.example:8443.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ParameterError(
            "The address of a service must hold no user, password, query or fragment.",
            hint="Give the token by its own parameter.",
        )
    if parts.scheme == "http" and not plain_http and not _is_here(host):
        raise ParameterError(
            "The address of a service on another machine must begin with https.",
            hint="By http everybody on the way reads the token and the rows; plain_http allows it.",
        )
    return url.rstrip("/")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_token(token: str | None) -> None:
    """Raise unless a token is one that can stand in a header; the error doesn't show it."""
    if token is not None and _TOKEN.fullmatch(token) is None:
        raise ParameterError(
            "A token has 8 to 512 letters, digits and signs of . _ ~ + / = - and nothing else.",
            hint="Look for a space or a line's end that was copied with it.",
        )


def tls_context(
    verify: bool | str | Path,  # noqa: FBT001 # keyword-only where people give it
    certificate: str | Path | Sequence[str | Path] | None,
) -> ssl.SSLContext:
    """Return how a service is verified, and how the client shows who it is."""
    if verify is False:
        raise ParameterError(
            "An unverified service may be an attacker's.",
            hint="Give its authority's certificate as 'verify', a file in PEM.",
        )
    try:
        authority = None if verify is True else os.fspath(verify)
        context = ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError):
        raise ParameterError("The certificate of the authority can't be read as PEM.") from None
    if certificate is not None:
        given = [certificate] if isinstance(certificate, str | Path) else certificate
        files = [os.fspath(each) for each in given]
        try:
            # Never asks: a key under a passphrase would stop an unattended client.
            key = files[1] if len(files) > 1 else None
            context.load_cert_chain(files[0], key, password=_refuse)
        except (OSError, ssl.SSLError, IndexError, ValueError):
            raise ParameterError(
                "The client's certificate and key can't be read as PEM, or don't belong together.",
                hint="Give the certificate, or the certificate and its key without a passphrase.",
            ) from None
    return context


def _refuse() -> str:
    raise ValueError
