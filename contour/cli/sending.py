"""Sends the request that `contour explain` has evaluated, and compares the answers."""

import http.client
import ipaddress
import ssl
from contextlib import closing
from typing import NamedTuple, TypedDict

from contour.answers.explained import Explained, ShownListener
from contour.cli import addresses
from dag.evaluation.requests import Request
from dag.evaluation.trace import MARK

_TIMEOUT = 30.0  # seconds without a byte
_MOST_CHARACTERS = 200
"""Characters of the body that are shown of an unexpected answer."""
_STAYS = 1.0
"""Seconds without a byte after which a connection counts as staying open."""
_SWITCHED = 101
"""A status that Envoy never sends by itself, and never marks."""
GRPC = {400: 13, 401: 16, 403: 7, 404: 12, 429: 14, 502: 14, 503: 14, 504: 14}
"""The gRPC status that Envoy sends instead of an HTTP status (gRPC, "HTTP to gRPC Status Code
Mapping")."""
GRPC_UNKNOWN = 2
"""The gRPC status instead of every other HTTP status."""


class Address(NamedTuple):
    """Where Envoy listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Sent(TypedDict):
    """What came back, as in JSON."""

    to: str
    status: int | None
    """None if the connection failed."""
    agrees: bool
    text: str


class _Answer(NamedTuple):
    status: int
    location: str
    is_of_backend: bool
    grpc_status: str
    body: str


def address(text: str) -> Address:
    """`HOST:PORT`, with an address of IPv6 in brackets. Raises ValueError."""
    found = addresses.site(text)
    if found is None:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return Address(*found)


def local(listener: ShownListener) -> Address:
    """A listener on this machine; one on all addresses is reached at the loopback address."""
    found = ipaddress.ip_address(listener["address"])
    loopback = "::1" if found.version == 6 else "127.0.0.1"
    return Address(loopback if found.is_unspecified else str(found), listener["port"])


def sent(found: Explained, request: Request, to: Address) -> Sent:
    """Sends the request over a connection of its own, and says whether the expected answer came
    back.

    Raises ValueError if it cannot be sent as it is written.
    """
    is_closed = found["answer"]["status"] is None and not found["backends"]
    try:
        if request.is_stream:
            return _stream(request, to, is_closed=is_closed)
        answer = _asked(request, to)
    except http.client.InvalidURL as error:
        raise ValueError(str(error)) from None
    except (OSError, http.client.HTTPException) as error:
        return _told(to, None, f"no answer: {error}", agrees=is_closed)
    is_unknown = _is_unknown(found, answer)
    agrees = not is_closed and (is_unknown or _is_expected(found, answer))
    described = _described(answer, agrees)
    if is_unknown:
        described += " by a backend, or by Envoy: no header tells them apart"
    return _told(to, answer.status, described, agrees=agrees)


def _is_unknown(found: Explained, answer: _Answer) -> bool:
    """Whether nobody can tell if the backend has answered that was to answer."""
    is_forwarded = any("status" not in it for it in found["backends"])
    hides = found["answer"].get("hidesBackends", False)
    return hides and is_forwarded and found["answer"]["status"] is None and not answer.is_of_backend


def _told(to: Address, status: int | None, text: str, *, agrees: bool) -> Sent:
    text = f"{text}, as evaluated" if agrees else f"not as evaluated: {text}"
    return {"to": str(to), "status": status, "agrees": agrees, "text": text}


def _described(answer: _Answer, agrees: bool) -> str:
    whose = " by a backend" if answer.is_of_backend else ""
    location = f" to {answer.location}" if answer.location else ""
    grpc = f", grpc-status {answer.grpc_status}" if answer.grpc_status else ""
    body = f" ({answer.body})" if answer.body and not (agrees or answer.is_of_backend) else ""
    return f"answered {answer.status}{location}{grpc}{whose}{body}"


def _is_expected(found: Explained, answer: _Answer) -> bool:
    expected = found["answer"]
    if expected.get("stream"):
        return True  # whatever the backend says
    refused = {it["status"] for it in found["backends"] if "status" in it}
    own = refused if expected["status"] is None else {expected["status"]}
    if answer.is_of_backend:
        return expected["status"] is None
    if expected.get("mayBeRefused") and (answer.status >= 400 or answer.grpc_status):
        return True  # by the server that decides
    if answer.grpc_status:
        return answer.grpc_status in {str(GRPC.get(it, GRPC_UNKNOWN)) for it in own}
    return answer.status in own and answer.location == expected.get("location", answer.location)


def _stream(request: Request, to: Address, *, is_closed: bool) -> Sent:
    """Connects, and says whether the connection stays."""
    with closing(_connected(request, to)) as connection:
        connection.sock.settimeout(_STAYS)
        try:
            stays = bool(connection.sock.recv(1))
        except TimeoutError:
            stays = True
    text = "the connection stays open" if stays else "the connection is closed at once"
    return _told(to, None, text, agrees=stays != is_closed)


def _asked(request: Request, to: Address) -> _Answer:
    """Raises OSError and http.client.HTTPException; ValueError if it is no request."""
    with closing(_connected(request, to)) as connection:
        connection.putrequest(
            request.method, request.path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in (("host", request.host), *request.headers):
            connection.putheader(name, value)
        connection.endheaders()
        found = connection.getresponse()
        body = found.read(_MOST_CHARACTERS).decode(errors="replace").strip()
        return _Answer(
            found.status,
            found.headers.get("location", ""),
            MARK in found.headers or found.status == _SWITCHED,
            found.headers.get("grpc-status", ""),
            body.partition("\n")[0],
        )


def _connected(request: Request, to: Address) -> http.client.HTTPConnection:
    source = None if request.source == "127.0.0.1" else (request.source, 0)
    if source is not None and not ipaddress.ip_address(request.source).is_loopback:
        raise ValueError("--run sends from this machine: --from has to be a loopback address")
    connection = http.client.HTTPConnection(to.host, to.port, _TIMEOUT, source)
    connection.connect()
    if request.is_secure:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        name = request.asked or None
        connection.sock = context.wrap_socket(connection.sock, server_hostname=name)
    return connection
