"""What a route does beside sending requests on, in a few words each."""

from collections.abc import Iterator

from crds.meta import ObjectRef
from dag import nodes


def traits(route: nodes.Route) -> list[str]:
    """Everything about a route that its line does not say."""
    found = [*_headers("", route.request_headers, route.response_headers)]
    if route.policies is not None:
        found += _policies(route.policies)
    if isinstance(route.action, nodes.Forward):
        found += _forward(route.action)
    return found


def _forward(forward: nodes.Forward) -> Iterator[str]:
    for number, it in enumerate(forward.backends):
        name = f"backend {number}: " if len(forward.backends) > 1 else ""
        if it.cluster is not None and (it.cluster.protocol != "http/1.1" or it.cluster.tls):
            yield f"{name}speaks {it.cluster.protocol}{_tls(it.cluster.tls)}"
        if it.host:
            yield f"{name}host {it.host}"
        yield from _headers(f"{name or 'backend: '}", it.request_headers, it.response_headers)
    for mirror in forward.mirrors:
        port = mirror.cluster.port
        share = f"{mirror.numerator}/{mirror.denominator}"
        yield f"mirror {port.service}:{port.port} {share}"
    if forward.timeout is not None:
        yield f"timeout {forward.timeout:g}"
    if forward.rewrite is not None:
        yield _rewrite(forward.rewrite)
    if forward.retry is not None:
        yield _retry(forward.retry)
    if forward.websockets:
        yield "websockets"


def _tls(tls: nodes.UpstreamTls | None) -> str:
    if tls is None:
        return ""
    trusted = "system" if tls.system else ", ".join(it.name for it in _authorities(tls))
    names = ", ".join(it.value for it in tls.names)
    shown = f", shows {tls.client_certificate}" if tls.client_certificate else ""
    return f" over TLS: {trusted} for {names} by {tls.sni}{shown}"


def _authorities(tls: nodes.UpstreamTls) -> tuple[ObjectRef, ...]:
    return tls.trust.authorities if tls.trust is not None else ()


def _rewrite(rewrite: nodes.Rewrite) -> str:
    parts = {"host": rewrite.host, "path": rewrite.full_path, "prefix": rewrite.prefix}
    return "rewrite " + ", ".join(f"{name} {it}" for name, it in parts.items() if it)


def _retry(retry: nodes.Retry) -> str:
    if not retry.attempts:
        return "no retries"
    codes = f" {', '.join(map(str, retry.status_codes))}" if retry.status_codes else ""
    limit = f" within {retry.per_try_timeout:g}" if retry.per_try_timeout is not None else ""
    pause = f" after {retry.backoff:g}" if retry.backoff is not None else ""
    return f"retry {retry.attempts} times on{codes} {', '.join(retry.on)}{limit}{pause}"


def _headers(
    whose: str, request: nodes.HeaderPolicy | None, response: nodes.HeaderPolicy | None
) -> Iterator[str]:
    for name, policy in (("request", request), ("response", response)):
        if policy is not None:
            changes = [
                *(f"={key}:{value}" for key, value in policy.set),
                *(f"+{key}:{value}" for key, value in policy.add),
                *(f"-{key}" for key in policy.remove),
            ]
            yield f"{whose}{name} {' '.join(changes)}"


def _policies(policies: nodes.Policies) -> Iterator[str]:
    if isinstance(policies.cors, nodes.Cors):
        cors = policies.cors
        origins = ", ".join(f"{it.operator} {it.value}".strip() for it in cors.origins)
        rest = " ".join(
            [
                ",".join(cors.methods) or "no methods",
                ",".join(cors.headers) or "no headers",
                ",".join(cors.expose) or "nothing exposed",
                f"for {cors.max_age}",
                *(["with credentials"] if cors.credentials else []),
            ]
        )
        yield f"cors {origins}; {rest}"
    if isinstance(policies.authorization, nodes.Authorization):
        asked = policies.authorization
        assert isinstance(asked.cluster, nodes.Cluster)
        yield f"asks {asked.cluster.port.service} by {asked.protocol} {asked.path_prefix}".strip()
    if isinstance(policies.session, nodes.SessionPersistence):
        it = policies.session
        yield f"session by {it.kind} {it.name} for {it.lifetime or 'the session'}"
