"""How the ClientTrafficPolicy of a listener, or of its Gateway, becomes part of its hosts.

Hosts behind TLS have filter chains of their own, so each is read as the policy of its listener
says. What all hosts of a port share is decided elsewhere (`clientports`).
"""

from dataclasses import replace

from dag import nodes
from dag.engine.view import View
from dag.gateway.envoypolicies import clientpolicies, policytargets
from dag.gateway.envoypolicies.clientpolicies import Effect
from dag.gateway.servedlisteners import ServedListener


def of_listener(view: View, owner: ServedListener) -> Effect | None:
    """What the policy of a listener asks for; None if it has none."""
    holder, name = owner.section
    found = policytargets.of_listener(view, clientpolicies.POLICIES, holder, name, owner.gateway)
    return clientpolicies.EFFECTS.of(view, found) if found is not None else None


def terminated(view: View, owner: ServedListener, tls: nodes.Tls) -> nodes.Tls:
    """How TLS of a listener is terminated, with what its policy says."""
    found = of_listener(view, owner)
    if found is None or found.is_closed:
        return tls
    terms = found.tls
    minimum = terms.minimum or tls.minimum
    return replace(
        tls,
        minimum=minimum,
        maximum=max(minimum, terms.maximum or tls.maximum),
        ciphers=terms.ciphers or tls.ciphers,
        curves=terms.curves or tls.curves,
        http_versions=terms.http_versions or tls.http_versions,
        signatures=terms.signatures,
        resumption=terms.resumption,
        clients=_clients(owner, terms.clients) or tls.clients,
        traffic=found.traffic if owner.is_http and found.traffic != nodes.ClientTraffic() else None,
    )


def _clients(
    owner: ServedListener, wanted: nodes.ClientValidation | None
) -> nodes.ClientValidation | None:
    """What clients must show. Of streams nobody would miss a certificate that is not checked."""
    if wanted is None or owner.is_http or not wanted.accepts_untrusted or wanted.is_optional:
        return wanted
    return nodes.ClientValidation()


def stream(view: View, owner: ServedListener, found: nodes.Stream) -> nodes.Stream:
    """A stream of a listener, with what its policy says."""
    asked = of_listener(view, owner)
    if asked is None or asked.is_closed:
        return found
    rests = found.idle_timeout if found.idle_timeout is not None else asked.stream_idle
    if owner.protocol == "UDP":
        return found
    return replace(found, idle_timeout=rests, connections=asked.traffic.connections)
