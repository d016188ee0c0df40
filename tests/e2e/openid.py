"""An OpenID provider whose users are logged in already: it sends them back with a code at once.

It checks what a client must send (RFC 6749, RFC 7636), so a client that is wrong gets no tokens.
"""

import hashlib
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from tests.e2e import peers
from tests.testbed import certificates, tokens
from tests.testbed.certificates import Pair

Fields = dict[str, str]


@dataclass
class Provider:
    """What it knows, and what it was asked."""

    issuer: str
    client: tuple[str, str]
    """The ID and the secret."""
    user: str = "alice"
    lifetime: int | None = 3600
    """Seconds for which tokens are valid, as it tells; it tells nothing if None."""
    document: dict[str, Any] = field(default_factory=dict)
    """What its discovery document says beside what it must."""
    is_away: bool = False
    """The token endpoint answers 503."""
    codes: dict[str, Fields] = field(default_factory=dict)
    """What was asked for with each code that was not used yet."""
    refreshers: set[str] = field(default_factory=set)
    """The refresh tokens that are valid."""
    asked: list[Fields] = field(default_factory=list)
    """The forms that its token endpoint got."""

    def authorize(self, asked: Fields) -> str:
        """Where a browser is sent back."""
        code = token_hex(8)
        self.codes[code] = asked
        told = {"code": code, "state": asked["state"]}
        return f"{asked['redirect_uri']}?{urlencode(told)}"

    def exchange(self, asked: Fields, shown: str) -> dict[str, Any] | None:
        """The tokens for a code or refresh token; None if they are refused."""
        self.asked.append(asked)
        kind, _, text = shown.partition(" ")
        client = tuple(map(unquote_plus, b64decode(text).decode().split(":", 1)))
        if kind != "Basic" or client != self.client:
            return None
        if asked.get("grant_type") == "refresh_token":
            is_valid = asked.get("refresh_token", "") in self.refreshers
        else:
            is_valid = self._redeems(asked)
        return self._tokens() if is_valid else None

    def _redeems(self, asked: Fields) -> bool:
        was = self.codes.pop(asked.get("code", ""), None)
        if was is None or asked.get("redirect_uri") != was["redirect_uri"]:
            return False
        digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        return was.get("code_challenge") == tokens.encoded(digest)

    def _tokens(self) -> dict[str, Any]:
        refresher = token_hex(8)
        self.refreshers.add(refresher)
        claims = {"iss": self.issuer, "sub": self.user}
        made = {
            "access_token": tokens.token(**claims, use="access"),
            "id_token": tokens.token(**claims, use="id", aud=self.client[0]),
            "refresh_token": refresher,
            "token_type": "Bearer",
        }
        return made if self.lifetime is None else made | {"expires_in": self.lifetime}

    def discovery(self) -> dict[str, Any]:
        """Its discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "end_session_endpoint": f"{self.issuer}/end",
            **self.document,
        }

    @contextmanager
    def serving(self, shown: Pair | None = None, address: str = "127.0.0.1") -> Iterator[int]:
        """Serves with this certificate, or without TLS; the port."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                if parts.path.endswith("/.well-known/openid-configuration"):
                    self._answer(200, provider.discovery())
                else:
                    self._answer(404, {})

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                form = _fields(self.rfile.read(length).decode())
                if provider.is_away:
                    self._answer(503, {})
                    return
                made = provider.exchange(form, self.headers.get("authorization", ""))
                self._answer(400 if made is None else 200, made or {"error": "invalid_grant"})

            def _answer(self, status: int, body: object) -> None:
                content = dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
                """Says nothing."""

        server = ThreadingHTTPServer((address, 0), Handler)
        server.daemon_threads = True
        if shown is not None:
            tls = certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), shown)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        with peers.served(server) as port:
            yield port


def _fields(text: str) -> Fields:
    return {name: values[0] for name, values in parse_qs(text).items()}


def asked(location: str) -> Fields:
    """What a browser is sent to a provider with."""
    return _fields(urlsplit(location).query)
