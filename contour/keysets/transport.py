"""TLS to servers of key sets: trusted authorities and names."""

import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, TypeGuard

from dag import nodes
from dag.references import parsing


@lru_cache(maxsize=256)
def context(tls: nodes.UpstreamTls | None, authorities: bytes | None) -> ssl.SSLContext | bool:
    """How a server is verified; True where there is no TLS. Raises OSError for bad authorities."""
    if tls is None:
        return True
    if authorities is None and not tls.system:
        return _unverified()
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authorities is None:
        made.load_default_certs()
    else:
        made.load_verify_locations(cadata=parsing.text(authorities))
    made.check_hostname = not tls.names
    if tls.names:
        made.sslobject_class = type("_Named", (_Named,), {"names": tls.names})
    return made


def _unverified() -> ssl.SSLContext:
    """As an HTTPProxy without `validation` asks for."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


class _Named(ssl.SSLObject):
    """A connection to a server whose certificate has to have one of some names."""

    names: ClassVar[tuple[nodes.AlternativeName, ...]] = ()

    def do_handshake(self) -> None:
        """Raises ssl.SSLCertVerificationError."""
        super().do_handshake()
        found: Mapping[str, object] = self.getpeercert() or {}
        alternatives = found.get("subjectAltName", ())
        if not any(_is_named(it, alternatives) for it in self.names):
            raise ssl.SSLCertVerificationError(1, "it has none of the names that are required")


def _is_named(name: nodes.AlternativeName, alternatives: object) -> bool:
    wanted = {(name.kind, name.value)}
    if name.kind == "DNS" and "." in name.value:
        wanted.add(("DNS", f"*.{name.value.partition('.')[2]}"))
    return _is_tuple(alternatives) and any(it in wanted for it in alternatives)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)
