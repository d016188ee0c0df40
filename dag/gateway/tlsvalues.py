"""TLS settings of Envoy Gateway's objects, as far as they are served.

A value that is not served has no effect and is reported: TLS is never weaker than by default.
"""

from collections.abc import Iterable

from dag import nodes
from dag.configuration.edges import CIPHERS
from dag.problems import shared
from dag.problems.places import Findings, Place


def version(given: str | None, at: Place) -> Findings[nodes.TlsVersion | None]:
    """A version of TLS as it is written; None for the default, and where it is not served."""
    for it in nodes.TLS_VERSIONS:
        if it == given:
            return it
    if given not in {None, "Auto"}:
        yield shared.no_effect(at, f"TLS {given} is not served")
    return None


def known(given: Iterable[str], served: tuple[str, ...], at: Place) -> Findings[tuple[str, ...]]:
    """The values of a list that are served, each once; others are reported as ineffective."""
    found: list[str] = []
    for index, it in enumerate(given):
        if it in served:
            found.append(it)
        else:
            why = f"{it[:60]!r} is none of {', '.join(served)}"
            yield shared.no_effect(at.item(index), why)
    return tuple(dict.fromkeys(found))


def ciphers(given: Iterable[str], at: Place) -> Findings[tuple[str, ...]]:
    """The ciphers of TLS 1.2, by Envoy's names, which are those of OpenSSL."""
    return (yield from known((_OF_IANA.get(it, it) for it in given), CIPHERS, at))


_OF_IANA = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
}
"""The names of IANA that Envoy Gateway takes, too."""
