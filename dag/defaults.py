"""Services that Envoy asks for every host, by the configuration, and what follows without them.

A service that cannot be asked closes what it is to guard: without the authorization service that is
every host; without the rate limit service, the hosts and routes with limits (unless they fail
open). Traces guard nothing. Source: Contour's configuration reference, "globalExtAuth",
"rateLimitService", "tracing". Elsewhere: reading the configuration (`configuration`), what
HTTPProxies say of themselves (`httpproxy.guards`).
"""

from collections.abc import Iterator

from crds.contourconfiguration import TracingSettings
from crds.endpoints import ObjectName
from crds.meta import NamespacedName, ObjectRef
from crds.ratelimits import GlobalRateLimitPolicy
from crds.records import replace
from dag import authorization, extensions, hints, nodes, tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.problems import Problem, Refused
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.references import secrets


@query
def built_authority(view: View, _: tuple[()]) -> authorization.Authority | Problem | None:
    """The service that is asked about every request, or why it cannot be; None if there is none."""
    written = view.ask(settings.settings, ()).global_authorization
    if written is None:
        return None
    try:
        place = _spec(view).at("globalExtAuth")
        return authorization.authority(view, place, "", written, problems.AUTHORIZATION)
    except Refused as refused:
        return refused.problem


@query
def authority(view: View, _: tuple[()]) -> authorization.Authority | None:
    """The service that is asked, if it can be."""
    found = view.ask(built_authority, ())
    return None if isinstance(found, Problem) else found


@query
def unauthorized(view: View, _: tuple[()]) -> str | None:
    """Why every host is closed that does not opt out of authorization; None if they are not."""
    found = view.ask(built_authority, ())
    if not isinstance(found, Problem):
        return None
    return f"the authorization service of the configuration cannot be asked ({found.message})"


@query
def built_rate_limit_service(view: View, _: tuple[()]) -> nodes.RateLimitService | Problem | None:
    """The service that counts, or why it cannot be asked; None if there is none."""
    written = view.ask(settings.settings, ()).rate_limiting
    if written is None:
        return None
    found = _extension(view, _spec(view).at("rateLimitService"), written.extension_service)
    if isinstance(found, Problem):
        return found
    cluster, timeout = found
    return nodes.RateLimitService(
        cluster,
        written.domain or "contour",
        timeout,
        bool(written.fail_open),
        bool(written.enable_x_rate_limit_headers),
        bool(written.enable_resource_exhausted_code),
    )


@query
def rate_limit_service(view: View, _: tuple[()]) -> nodes.RateLimitService | None:
    """The service that counts, if it can be asked."""
    found = view.ask(built_rate_limit_service, ())
    return None if isinstance(found, Problem) else found


@query
def uncounted(view: View, _: tuple[()]) -> str | None:
    """Why hosts and routes with rate limits are closed; None if they are not."""
    found, written = view.ask(built_rate_limit_service, ()), view.ask(settings.settings, ())
    fails_open = written.rate_limiting is None or written.rate_limiting.fail_open
    return found.message if isinstance(found, Problem) and not fails_open else None


@query
def counts(view: View, _: tuple[()]) -> bool:
    """Whether the configuration names a rate limit service."""
    return view.ask(settings.settings, ()).rate_limiting is not None


@query
def rate_limits(view: View, _: tuple[()]) -> GlobalRateLimitPolicy | None:
    """The rate limit policy for HTTPProxies that have none of their own."""
    service = view.ask(settings.settings, ()).rate_limiting
    return service.default_global_rate_limit_policy if service is not None else None


@query
def edge(view: View, _: tuple[()]) -> nodes.Edge:
    """How every listener is read, traces included."""
    found = view.ask(settings.settings, ())
    tracing, result = _tracing(view, found.tracing), found.edge
    if (options := view.read(tables.SOCKET_OPTIONS, ())) is not None:
        result = replace(result, tos=options[0], traffic_class=options[1])
    return result if isinstance(tracing, Problem) else replace(result, tracing=tracing)


def problems_of(view: View) -> Iterator[Problem]:
    """Problems with objects that the configuration names."""
    found = view.ask(settings.settings, ())
    built = (
        view.ask(built_authority, ()),
        view.ask(built_rate_limit_service, ()),
        _tracing(view, found.tracing),
    )
    yield from (it for it in built if isinstance(it, Problem))
    spec = _spec(view)
    for place, secret in (
        (spec.at("envoy").at("clientCertificate"), found.upstreams.client_certificate),
        (spec.at("httpproxy").at("fallbackCertificate"), found.fallback_certificate),
    ):
        if secret is not None and (refusal := view.ask(secrets.refusal, secret)):
            yield problems.unresolved(place, refusal.message)


def _spec(view: View) -> Place:
    """The specification of the ContourConfiguration that counts."""
    found = view.ask(settings.chosen_configuration, ())
    return problems.spec(found.metadata.key if found is not None else NamespacedName("", ""))


def _tracing(view: View, written: TracingSettings | None) -> nodes.Tracing | Problem | None:
    if written is None:
        return None
    found = _extension(view, _spec(view).at("tracing"), written.extension_service)
    if isinstance(found, Problem):
        return found
    cluster, timeout = found
    return nodes.Tracing(
        cluster,
        written.service_name or "contour",
        timeout,
        _percent(written.overall_sampling),
        _percent(written.client_sampling),
        _percent(written.random_sampling),
        256 if written.max_path_tag_length is None else written.max_path_tag_length,
        tuple(
            nodes.CustomTag(it.tag_name, it.literal, it.request_header_name)
            for it in written.custom_tags
        ),
        written.include_pod_detail is not False,
    )


def _percent(text: str | None) -> float:
    """A percentage that `configuration` has checked already: absent means all, and 0 means none."""
    try:
        return min(max(float(text), 0.0), 100.0) if text else 100.0
    except ValueError:
        return 100.0


def _extension(
    view: View, place: Place, written: ObjectName
) -> tuple[nodes.ExtensionCluster, float | None] | Problem:
    place, name = place.at("extensionService"), NamespacedName(written.namespace, written.name)
    found = view.ask(extensions.extension, name)
    if found is None:
        return problems.unresolved(place, _not_found(view, name))
    if found.cluster is None:
        text = f"ExtensionService {name} cannot be asked; its status says why"
        return problems.unresolved(place, text)
    return found.cluster, found.timeout


def _not_found(view: View, name: NamespacedName) -> str:
    hint = hints.hint(view, ObjectRef("ExtensionService", *name))
    return f"ExtensionService {name} not found{hint}"
