"""The claim of HTTPProxy for a host: that of the root that owns it."""

from crds.records import replace
from dag import nodes
from dag.engine.view import View, query
from dag.httpproxy import clients, schemes
from dag.httpproxy.expansion import expansion
from dag.httpproxy.owner import CLAIMS, owner

__all__ = ["CLAIMS", "claim"]


@query
def claim(view: View, fqdn: str) -> nodes.Claim | None:
    """The routes and the TLS of a host; None where no HTTPProxy serves it."""
    root = view.ask(owner, fqdn)
    found = view.ask(expansion, root) if root is not None else None
    claim = found.claim if found is not None else None
    if claim is None or claim.tls is None or not clients.is_overruled(view, fqdn, claim.tls):
        return claim
    return replace(claim, secure=tuple(replace(it, action=schemes.UNSERVED) for it in claim.secure))
