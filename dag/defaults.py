"""What the configuration has Envoy ask of services for every host, and what follows without them.

A service that cannot be asked closes what it is to guard: authorization every host, rate limits the
hosts and routes that have any (unless they are to fail open). Traces guard nothing. Source:
Contour's configuration reference, "globalExtAuth", "rateLimitService", "tracing". Elsewhere:
reading the configuration (`configuration`), what HTTPProxies say of themselves
(`httpproxy.guards`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from crds.contourconfiguration import TracingSettings
from crds.endpoints import ObjectName
from crds.meta import NamespacedName
from crds.ratelimits import GlobalRateLimitPolicy
from dag import authorization, extensions, nodes, tables
from dag.configuration import settings
from dag.engine.view import View, query
from dag.faults import Fault
from dag.references import secrets


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """Why a default cannot be built."""

    path: str
    text: str


@query
def built_authority(view: View, _: tuple[()]) -> authorization.Authority | Unbuilt | None:
    """The service that is asked of every request, or why it cannot be; None if there is none."""
    written = view.ask(settings.settings, ()).global_authorization
    if written is None:
        return None
    try:
        return authorization.authority(view, "", written)
    except Fault as fault:
        return Unbuilt(f"spec.globalExtAuth.{fault.step}", fault.text)


@query
def authority(view: View, _: tuple[()]) -> authorization.Authority | None:
    """The service that is asked, if it can be."""
    found = view.ask(built_authority, ())
    return None if isinstance(found, Unbuilt) else found


@query
def is_unauthorized(view: View, _: tuple[()]) -> bool:
    """Every host is to ask a service that cannot be asked."""
    return isinstance(view.ask(built_authority, ()), Unbuilt)


@query
def built_rate_limit_service(view: View, _: tuple[()]) -> nodes.RateLimitService | Unbuilt | None:
    """The service that counts, or why it cannot be asked; None if there is none."""
    written = view.ask(settings.settings, ()).rate_limiting
    if written is None:
        return None
    found = _extension(view, "spec.rateLimitService.extensionService", written.extension_service)
    if isinstance(found, Unbuilt):
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
    return None if isinstance(found, Unbuilt) else found


@query
def uncounted(view: View, _: tuple[()]) -> str | None:
    """Why nothing that is limited may be served; None if it may."""
    found, written = view.ask(built_rate_limit_service, ()), view.ask(settings.settings, ())
    fails_open = written.rate_limiting is None or written.rate_limiting.fail_open
    return found.text if isinstance(found, Unbuilt) and not fails_open else None


@query
def counts(view: View, _: tuple[()]) -> bool:
    """Whether there is a service that counts at all."""
    return view.ask(settings.settings, ()).rate_limiting is not None


@query
def rate_limits(view: View, _: tuple[()]) -> GlobalRateLimitPolicy | None:
    """What the rate limit service is asked of HTTPProxies that do not say."""
    service = view.ask(settings.settings, ()).rate_limiting
    return service.default_global_rate_limit_policy if service is not None else None


@query
def edge(view: View, _: tuple[()]) -> nodes.Edge:
    """How every listener is read, traces included."""
    found = view.ask(settings.settings, ())
    tracing, result = _tracing(view, found.tracing), found.edge
    if (options := view.read(tables.SOCKET_OPTIONS, ())) is not None:
        result = replace(result, tos=options[0], traffic_class=options[1])
    return result if isinstance(tracing, Unbuilt) else replace(result, tracing=tracing)


def faults(view: View) -> Iterator[Unbuilt]:
    """What the author of the configuration is to be told of the objects that it names."""
    found = view.ask(settings.settings, ())
    built = (
        view.ask(built_authority, ()),
        view.ask(built_rate_limit_service, ()),
        _tracing(view, found.tracing),
    )
    yield from (it for it in built if isinstance(it, Unbuilt))
    for path, secret in (
        ("spec.envoy.clientCertificate", found.upstreams.client_certificate),
        ("spec.httpproxy.fallbackCertificate", found.fallback_certificate),
    ):
        if secret is not None and (refusal := view.ask(secrets.refusal, secret)):
            yield Unbuilt(path, f"Secret {secret} {refusal}")


def _tracing(view: View, written: TracingSettings | None) -> nodes.Tracing | Unbuilt | None:
    if written is None:
        return None
    found = _extension(view, "spec.tracing.extensionService", written.extension_service)
    if isinstance(found, Unbuilt):
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
    """What `configuration` has read already: absent is everything, and 0 is nothing."""
    try:
        return min(max(float(text), 0.0), 100.0) if text else 100.0
    except ValueError:
        return 100.0


def _extension(
    view: View, path: str, written: ObjectName
) -> tuple[nodes.ExtensionCluster, float | None] | Unbuilt:
    name = NamespacedName(written.namespace, written.name)
    found = view.ask(extensions.extension, name)
    if found is None:
        return Unbuilt(path, f"ExtensionService {name} not found")
    if found.cluster is None:
        return Unbuilt(path, f"ExtensionService {name} cannot be asked; its status says why")
    return found.cluster, found.timeout
