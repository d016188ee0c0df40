"""The endpoints of OpenID providers: those of their discovery documents (OpenID Connect Discovery).

A document must name the issuer that it was fetched for, or a provider could make users of another
one log in at itself (section 4.3). Browsers and Envoy go to the URLs in it, so these must be
`https`, without a fragment: Envoy appends a query.
"""

import json
from collections.abc import Mapping

from crds.raw import is_mapping
from dag import nodes
from dag.references import jwks
from dag.references.jwks import UnusableError
from dag.values import uris


def readable(source: nodes.Discovery, content: bytes) -> str:
    """The used parts of a document, as JSON. Raises UnusableError."""
    found = _document(content)
    issuer = _text(found, "issuer")
    if issuer.rstrip("/") != source.issuer.rstrip("/"):
        raise UnusableError(f"names another issuer: {issuer[:80]!r}")
    made = {"issuer": issuer}
    for name in ("authorization_endpoint", "token_endpoint"):
        made[name] = _endpoint(found, name)
    if found.get("end_session_endpoint") is not None:
        made["end_session_endpoint"] = _endpoint(found, "end_session_endpoint")
    return json.dumps(made, separators=(",", ":"))


def endpoints(known: str) -> nodes.ProviderEndpoints:
    """The endpoints of a document that was read."""
    found = json.loads(known)
    return nodes.ProviderEndpoints(
        found["authorization_endpoint"],
        found["token_endpoint"],
        found.get("end_session_endpoint", ""),
    )


def assumed(source: nodes.Discovery) -> str:
    """A document for where none is fetched: its endpoints are names under that of the issuer."""
    base = source.issuer.rstrip("/")
    made = {"authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token"}
    return json.dumps({"issuer": source.issuer, **made})


def _document(content: bytes) -> Mapping[str, object]:
    found = jwks.decoded(content)
    if not is_mapping(found):
        raise UnusableError("is no discovery document")
    return found


def _text(found: Mapping[str, object], name: str) -> str:
    text = found.get(name)
    if not isinstance(text, str) or not text:
        raise UnusableError(f"has no {name}")
    return text


def _endpoint(found: Mapping[str, object], name: str) -> str:
    text = _text(found, name)
    if refusal := uris.refusal(text, ("https",)):
        raise UnusableError(f"has a {name} that cannot be used: {refusal.why}")
    if not uris.is_plain(text):
        raise UnusableError(f"has a {name} with a fragment, or with characters that no URL has")
    return text
