"""Guards that do not hold where their author may think they do, and weak TLS."""

from collections.abc import Iterator

from crds.meta import ObjectRef
from dag import hosts, listeners, nodes
from dag.engine.incremental import Engine
from dag.evaluation import guards
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code


def plain_http(engine: Engine) -> Steps:
    """Hosts on plain HTTP although they check client certificates over TLS, or tokens.

    IP filters, tokens and authorization hold on plain HTTP too; client certificates cannot.
    """
    secured: dict[tuple[str, str], nodes.Tls] = {}
    for key, secure in engine.answers(hosts.secure_host):
        yield None
        if secure is not None and secure.tls is not None:
            secured[key.fleet, key.host] = secure.tls
    for key, found in engine.answers(hosts.virtual_host):
        yield None
        at = engine.answer(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
        if found is None or at is None or at.protocol != "HTTP":
            continue
        asks = secured.get((key.fleet, key.host))
        for subject in _forwarding(found) if asks is not None and asks.clients else ():
            yield Finding(
                Code.ClientCertificateBypassed, subject, "",
                f"{key.host} asks TLS clients for a certificate, but plain HTTP on port "
                f"{at.port} is forwarded without one",
            )  # fmt: skip
        for subject in _forwarding(found, with_tokens=True):
            text = f"tokens for {key.host} cross plain HTTP on port {at.port} unencrypted"
            yield Finding(Code.TokenOverPlainHTTP, subject, "", text)


def _forwarding(found: nodes.VirtualHost, *, with_tokens: bool = False) -> Iterator[ObjectRef]:
    """Objects whose routes forward requests; `with_tokens`: only routes that need a token."""
    whose = (
        it.origin
        for it in found.routes
        if isinstance(it.action, nodes.Forward) and (not with_tokens or _asks(found, it))
    )
    yield from dict.fromkeys(whose)


def _asks(host: nodes.VirtualHost, route: nodes.Route) -> bool:
    return isinstance(guards.in_force(host.policies, route.policies).jwt, nodes.Jwt)


def backends(engine: Engine) -> Steps:
    """Backends that are reached over TLS without a check of their certificates."""
    told: set[tuple[ObjectRef, ObjectRef]] = set()
    for _, found in engine.answers(hosts.virtual_host):
        yield None
        for route in found.routes if found is not None else ():
            for cluster in _unverified(route.action):
                mark = (route.origin, cluster.port.owner)
                if mark not in told:
                    told.add(mark)
                    text = f"{cluster.port.owner} is asked over TLS, but its certificate "
                    yield Finding(
                        Code.BackendNotVerified, route.origin, "", f"{text}is not checked"
                    )


def _unverified(action: nodes.Action) -> Iterator[nodes.Cluster]:
    """Clusters of an action whose TLS nothing verifies; `h2` and `tls` need no `tls` field."""
    for it in action.backends if isinstance(action, nodes.Forward) else ():
        cluster = it.cluster
        if cluster is None or (cluster.tls is None and cluster.protocol not in _OVER_TLS):
            continue
        if cluster.tls is None or (cluster.tls.trust is None and not cluster.tls.system):
            yield cluster


_OVER_TLS = ("h2", "tls")


def ciphers(engine: Engine) -> Steps:
    """Hosts whose author allows ciphers without forward secrecy, or without authentication of
    what they encrypt (CBC): RFC 9325, 4.2."""
    for key, found in engine.answers(hosts.secure_host):
        yield None
        if found is None or found.tls is None:
            continue
        weak = [it for it in found.tls.ciphers if _is_weak(it)]
        if weak:
            text = f"{key.host} allows {', '.join(weak)}"
            for subject in found.origins:
                yield Finding(Code.WeakCipher, subject, "", text)


def _is_weak(cipher: str) -> bool:
    """Whether a cipher is weak; Envoy's notation has alternatives in brackets, `[A|B]`."""
    return any(
        not it.startswith("ECDHE-") or not ("GCM" in it or "CHACHA20" in it)
        for it in cipher.strip("[]").split("|")
    )
