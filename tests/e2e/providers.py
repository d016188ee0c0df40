"""Providers of tokens that come one after the other, while another tenant's server of keys is down.

`contour run`, a real Envoy, and a server of keys over TLS, which answers for all providers but one.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e import incluster
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, keyserver, tokens
from tests.testbed.ports import free_port
from tests.testbed.processes import wait

SILENT = 3600.0
ISSUER = "https://issuer.example.com"
HOSTS = ("first.example.com", "proxy.example.com")
"""They need a token from the beginning: of an AuthenticationFilter, and of an HTTPProxy."""

_ADDED = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: AuthenticationFilter
metadata: {name: $name}
spec:
  type: JWT
  jwtProviders:
  - {name: one, issuer: "$issuer", remoteJWKS: {uri: "https://$address:$keys/$name"}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $name}
spec:
  parentRefs: [{name: web}]
  hostnames: [$name.example.com]
  rules:
  - filters:
    - type: ExtensionRef
      extensionRef: {group: gateway.envoyproxy.io, kind: AuthenticationFilter, name: $name}
    backendRefs: [{name: fast, port: 80}]
"""


def bearer() -> Mapping[str, str]:
    """A header with a token that every provider but the one that is down has signed."""
    return {"authorization": f"Bearer {tokens.token(iss=ISSUER)}"}


@contextlib.contextmanager
def serving(folder: Path, added: int, backend: str = "$one") -> Iterator[Standalone]:
    """An instance with `HOSTS`, and keys for so many providers more; `backend` is a port."""
    address = incluster.own_address()
    authority = certificates.known_authority()
    trusted = folder / "authorities.pem"
    trusted.write_bytes(authority.pem)
    paths = ("first", "proxy", *map(_name, range(added)))
    answers = {f"/{it}": tokens.jwks().encode() for it in paths} | {"/silent": SILENT}
    shown = certificates.issued(authority, address)
    text = manifest("providers.yaml").replace("$address", address)
    text = text.replace("$backend", backend).replace("$issuer", ISSUER)
    files = {
        "services.yaml": manifest("services.yaml"),
        "providers.yaml": text,
        "first.yaml": _provider("first"),
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        keyserver.in_thread(answers, shown, address) as server,
    ):
        patch.setenv("SSL_CERT_FILE", str(trusted))
        others = {"keys": server.port, "closed": free_port()}
        with standalone(folder, files, others) as it:
            for host in HOSTS:
                it.until_status(f"http://{host}/", 401)
            it.until_status("http://down.example.com/", 500)
            wait(lambda: server.asked["/silent"], "the silent server asked")
            yield it


def add(it: Standalone, number: int) -> None:
    """One provider more, and a host that needs its tokens."""
    it.write(f"added-{number}.yaml", _provider(_name(number)))


def until_served(it: Standalone, number: int) -> None:
    """Waits until the host of such a provider needs a token of it, and takes one."""
    url = f"http://{_name(number)}.example.com/"
    it.until_status(url, 401)
    assert it.ask(url, headers=bearer()).status == 200


def listeners(it: Standalone) -> Mapping[str, int]:
    """What Envoy has counted of its listeners, and of the connections that it has drained."""
    changed = "listener_(added|modified|removed|in_place_updated)|total_listeners_draining"
    return it.statistics(rf"^listener_manager\.({changed})$|downstream_cx_drain_close$")


def _name(number: int) -> str:
    return f"added-{number}"


def _provider(name: str) -> str:
    made = _ADDED.replace("$name", name).replace("$issuer", ISSUER)
    return made.replace("$address", incluster.own_address())
