"""What a route does with a request: where it sends the client, or what its backends get.

Paths are changed as `contour.envoy.paths` makes Envoy change them; headers by the backend's policy
first and then by the route's, each of which removes headers before it sets any.
"""

from collections.abc import Iterable, Iterator

from crds.records import replace
from dag import nodes
from dag.evaluation.requests import Request, has_port
from dag.evaluation.trace import Answer, Forwarded
from dag.values import substitutions

Changes = tuple[tuple[str, str | None], ...]

_FORWARDED_HOST = "x-forwarded-host"
_USUAL = {"http": ":80", "https": ":443"}


def answer(host: str, route: nodes.Route, request: Request) -> Answer:
    """The answer to a request that this route of a virtual host takes."""
    changed = _changes([route.response_headers])
    match route.action:
        case nodes.Respond(status, body) as respond:
            changed = _changes([respond.headers, route.response_headers])
            return Answer(status, body=as_text(body), route=route, response_headers=changed)
        case nodes.Redirect() as redirect:
            location = _location(redirect, route.match.path, request, host)
            cause = _LOOP if _leads_back(location, request) else ""
            return Answer(redirect.status, cause, location, route=route, response_headers=changed)
        case nodes.Forward() as forward:
            return _forwarded(forward, route, request, changed)


def refused(found: Answer, route: nodes.Route) -> Answer:
    """The answer where a request may not pass to the action of the route.

    Envoy has drawn a backend by then, so it changes the headers as in an answer of that backend:
    the answer has the changes that all backends share. If the route forwards nothing, it changes
    none.
    """
    if not isinstance(route.action, nodes.Forward):
        return found
    of_backends = {it.response_headers for it in route.action.backends}
    policies = (*(of_backends if len(of_backends) == 1 else ()), route.response_headers)
    return replace(found, response_headers=_changes(policies))


def noted(action: nodes.Action) -> Iterator[str]:
    """How a request is forwarded (not where to), as texts for people."""
    if not isinstance(action, nodes.Forward):
        return
    for name, value in (("timeout", action.timeout), ("idle timeout", action.idle_timeout)):
        if value is not None:
            yield f"{name}: {f'{value:g} s' if value else 'none'}"
    yield from _retries_noted(action.retry)
    yield from _of_backends(action)
    if action.hash_policies:
        yield "load balancing: by a hash of the request"
    if action.internal_redirect is not None:
        yield f"redirects of the backend: {action.internal_redirect.max_redirects} are followed"
    yield from _filters_noted(action)
    if action.cookies:
        names = ", ".join(it.name for it in action.cookies)
        yield f"cookies of the backend: {names} are rewritten"
    if action.websockets:
        yield "WebSockets: allowed"


def _retries_noted(found: nodes.Retry | None) -> Iterator[str]:
    if found is not None and found.attempts:
        yield f"retries: up to {found.attempts} on {', '.join(found.on)}"
    if found is not None and found.per_try_timeout:
        yield f"timeout of each try: {found.per_try_timeout:g} s"


def _filters_noted(action: nodes.Forward) -> Iterator[str]:
    """Effects of HTTPRouteFilters that neither the path nor the host of the request shows."""
    if action.rewrite is not None and action.rewrite.host_of_endpoint:
        yield "host: the name of the endpoint, where it has one"
    found = dict.fromkeys(it.cluster.injection for it in action.backends if it.cluster)
    for injection in filter(None, found):
        how = "in any case" if injection.overwrites else "unless the client sends it"
        yield f"credential: put into the header {injection.header}, {how}"


def _of_backends(action: nodes.Forward) -> Iterator[str]:
    for backend in action.backends:
        yield from _of_share(backend)
    for it in action.mirrors:
        share = it.numerator / it.denominator
        yield f"mirror: {share:.0%} are copied to {it.cluster.port.owner}"


def _of_share(share: nodes.Backend) -> Iterator[str]:
    """Settings of a single backend."""
    cluster = share.cluster
    if cluster is None or not share.weight:
        return
    yield from _of_members(cluster)
    backend, budget = cluster.port.owner, cluster.retry_budget
    if budget is not None:
        most = f"{budget.percent:g}% of its requests, or {budget.always}"
        yield f"retries: at once towards {backend} at most {most}"
    if share.session is not None:
        by = f"{share.session.kind.lower()} {share.session.name}"
        yield f"session persistence: within {backend} by the {by}"


def _of_members(cluster: nodes.Cluster) -> Iterator[str]:
    """Between which backends Envoy chooses within a cluster."""
    if len({it.port for it in cluster.members}) < 2:
        return
    total = sum(it.weight for it in cluster.members if not it.is_fallback)
    for it in cluster.members:
        share = "fallback" if it.is_fallback else f"{it.weight / total:.0%}"
        yield f"backend: {it.port.owner}, {share if it.weight else 'sessions that are with it'}"


def _forwarded(
    node: nodes.Forward, route: nodes.Route, request: Request, changed: Changes
) -> Answer:
    backends = [it for it in node.backends if it.weight]
    total = sum(it.weight for it in backends)
    shares = tuple(_share(it, total, node, route, request) for it in backends)
    return Answer(route=route, backends=shares, response_headers=changed)


def _share(
    backend: nodes.Backend, total: int, node: nodes.Forward, route: nodes.Route, request: Request
) -> Forwarded:
    changed = _changes([backend.request_headers, route.request_headers])
    host = backend.host or _host(node.rewrite, request, changed)
    if node.rewrite is not None and node.rewrite.tells_host and host != request.host:
        told = dict(changed).get(_FORWARDED_HOST, request.header(_FORWARDED_HOST))
        every = f"{told},{request.host}" if told else request.host
        changed = (*changed, (_FORWARDED_HOST, every))
    return Forwarded(
        backend.weight / total,
        backend.cluster,
        host,
        _path(node.rewrite, route.match.path, request.path),
        changed,
        _changes([backend.response_headers, route.response_headers]),
        0 if backend.cluster else node.missing,
    )


def _host(rewrite: nodes.Rewrite | None, request: Request, changed: Changes) -> str:
    """The host that a backend sees. Envoy reads it from a header after headers are changed."""
    if rewrite is None:
        return request.host
    if rewrite.host:
        return rewrite.host
    if rewrite.host_header:
        name = rewrite.host_header
        first = next(iter(request.values(name)), None)
        return dict(changed).get(name, first) or request.host
    if rewrite.host_from_path is not None:
        return substitutions.applied(*rewrite.host_from_path, request.path.partition("?")[0])
    return request.host


def _path(rewrite: nodes.Rewrite | None, matched: nodes.Path, path: str) -> str:
    """The path with its query, as a backend sees it."""
    if rewrite is None:
        return path
    bare, question, query = path.partition("?")
    if rewrite.path is not None:
        bare = substitutions.applied(*rewrite.path, bare)
    elif rewrite.full_path is not None:
        bare = rewrite.full_path
    elif rewrite.prefix is not None:
        bare = _with_prefix(bare, matched, rewrite.prefix)
    return bare + question + query


def _with_prefix(path: str, matched: nodes.Path, replacement: str) -> str:
    """What the route matched is replaced; one slash stays between that and the rest."""
    if not isinstance(matched, nodes.Segments | nodes.Prefix):
        return replacement
    kept, rest = replacement.rstrip("/"), path.removeprefix(matched.path)
    if matched.path.endswith("/"):
        return f"{kept}/{rest}"
    return kept + rest if kept else "/" + rest.lstrip("/")


def _location(node: nodes.Redirect, matched: nodes.Path, request: Request, host: str) -> str:
    scheme = node.scheme or request.told_scheme
    path = request.path
    if node.full_path is not None:
        keeps_query = "?" not in node.full_path
        path = node.full_path + ("".join(path.partition("?")[1:]) if keeps_query else "")
    elif node.prefix is not None:
        bare, question, query = path.partition("?")
        path = _with_prefix(bare, matched, node.prefix) + question + query
    port = f":{node.port}" if node.port is not None else ""
    return f"{scheme}://{_redirected(node, request, host, scheme)}{port}{path}"


_LOOP = "it leads to the URL that was asked for, so clients ask again and again"


def _leads_back(location: str, request: Request) -> bool:
    scheme, _, rest = location.partition("://")
    host, slash, path = rest.partition("/")
    asked, shown = (it.lower().removesuffix(_USUAL.get(scheme, "")) for it in (request.host, host))
    return (scheme, shown, slash + path) == (request.told_scheme, asked, request.path)


def _redirected(node: nodes.Redirect, request: Request, host: str, scheme: str) -> str:
    """The host of a redirect, with the port that the client wrote where that stays."""
    if node.host is not None:
        return node.host
    if node.scheme is not None and node.port is None and not host.startswith("*"):
        return host
    if not has_port(request.host):
        return request.host
    name, _, port = request.host.rpartition(":")
    told = request.told_scheme
    is_usual = scheme != told and _USUAL[told] == f":{port}"
    return name if node.port is not None or is_usual else request.host


def _changes(policies: Iterable[nodes.HeaderPolicy | None]) -> Changes:
    """Headers by name, as they are in the end."""
    return tuple(dict(_each(it for it in policies if it is not None)).items())


def _each(policies: Iterable[nodes.HeaderPolicy]) -> Iterator[tuple[str, str | None]]:
    for it in policies:
        yield from ((name.lower(), None) for name in it.remove)
        yield from ((name.lower(), as_text(value)) for name, value in (*it.set, *it.add))


def as_text(value: nodes.Value) -> str:
    """A value of a header or body; what stands between percent signs is for Envoy to fill in."""
    if isinstance(value, str):
        return value
    return "".join(it if isinstance(it, str) else f"%{it.name}%" for it in value.pieces)
