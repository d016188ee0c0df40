"""Which service is asked whether requests may pass, and how.

For virtual hosts of HTTPProxies, and for every host by the configuration. What cannot be asked
closes what it stands on. Source: HTTPProxy reference, "AuthorizationServer".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from crds import authorization as crd
from crds.meta import NamespacedName
from dag import extensions, nodes
from dag.engine.view import View
from dag.faults import Fault
from dag.values import durations, headers

API_VERSIONS = ("", "projectcontour.io/v1alpha1")


@dataclass(frozen=True, slots=True)
class Authority:
    """A service, and whether it is asked where nothing else is said."""

    asked: nodes.Authorization
    is_default: bool = True


def authority(view: View, namespace: str, written: crd.AuthorizationServer) -> Authority:
    """The service that is asked; Fault says why it cannot be."""
    extension = _extension(view, namespace, written.extension_ref)
    cluster = extension.cluster
    if cluster is None:
        name = _name(namespace, written.extension_ref)
        text = f"ExtensionService {name} cannot be asked; its status says why"
        raise Fault("ExtensionServiceNotFound", "extensionRef", text)
    policy = written.auth_policy or crd.AuthorizationPolicy()
    _check_context(written.service_type, policy, "authPolicy.context")
    settings = written.http_settings or crd.HTTPAuthorizationServerSettings()
    asked = nodes.Authorization(
        cluster=cluster,
        protocol=written.service_type,
        authority=_authority(cluster),
        timeout=_timeout(written.response_timeout, extension.timeout),
        fail_open=written.fail_open,
        body=_body(written.with_request_body),
        context=tuple(sorted(policy.context.items())),
        path_prefix=_prefix(settings.path_prefix),
        request_headers=_allowed(
            "allowedAuthorizationHeaders", settings.allowed_authorization_headers
        ),
        upstream_headers=_allowed_upstream(settings.allowed_upstream_headers),
    )
    return Authority(asked, not policy.disabled)


def on_host(known: Authority, policy: crd.AuthorizationPolicy | None) -> Authority:
    """What a virtual host that names no service of its own makes of the configuration's."""
    if policy is None:
        return known
    _check_context(known.asked.protocol, policy, "authPolicy.context")
    return Authority(_with_context(known.asked, policy.context), not policy.disabled)


def on_route(
    known: Authority | None, policy: crd.AuthorizationPolicy | None
) -> nodes.Authorization | nodes.Off | None:
    """What a route says; None for what its host says. A context of a route adds to the host's."""
    if known is None or policy is None:
        return None
    _check_context(known.asked.protocol, policy, "authPolicy.context")
    if policy.disabled:
        return nodes.OFF
    return _with_context(known.asked, policy.context)


def _with_context(asked: nodes.Authorization, context: Mapping[str, str]) -> nodes.Authorization:
    return replace(asked, context=tuple(sorted({**dict(asked.context), **context}.items())))


def _check_context(protocol: str, policy: crd.AuthorizationPolicy, step: str) -> None:
    if policy.context and protocol == "http":
        raise Fault("AuthContextForHTTP", step, "a service that speaks HTTP is told no context")


def _name(namespace: str, reference: crd.ExtensionServiceReference | None) -> NamespacedName | None:
    if reference is None or not reference.name:
        return None
    return NamespacedName(reference.namespace or namespace, reference.name)


def _extension(
    view: View, namespace: str, reference: crd.ExtensionServiceReference | None
) -> extensions.Extension:
    name = _name(namespace, reference)
    if reference is not None and (reference.api_version or "") not in API_VERSIONS:
        text = f"{(reference.api_version or '')[:60]!r} is no version of ExtensionService"
        raise Fault("AuthBadResourceVersion", "extensionRef.apiVersion", text)
    found = view.ask(extensions.extension, name) if name is not None else None
    if found is None:
        text = f"ExtensionService {name} not found" if name else "names no ExtensionService"
        raise Fault("ExtensionServiceNotFound", "extensionRef", text)
    return found


def _authority(cluster: nodes.ExtensionCluster) -> str:
    """The name by which the service is asked; that of its certificate, if there is one."""
    sni = cluster.tls.sni if cluster.tls is not None else ""
    return sni or f"extension.{cluster.name.namespace}.{cluster.name.name}"


def _timeout(own: str | None, of_extension: float | None) -> float | None:
    if own is None:
        return of_extension
    try:
        return durations.timeout(own)
    except ValueError as why:
        raise Fault("AuthResponseTimeoutInvalid", "responseTimeout", str(why)) from None


def _body(
    written: crd.AuthorizationServerBufferSettings | None,
) -> nodes.AuthorizationBody | None:
    if written is None:
        return None
    return nodes.AuthorizationBody(
        written.max_request_bytes, written.allow_partial_message, written.pack_as_bytes
    )


def _prefix(text: str) -> str:
    step = "httpSettings.pathPrefix"
    if text and not text.startswith("/"):
        raise Fault("AuthBadPathPrefix", step, "must start with /")
    if (refusal := headers.value_refusal(text)) or not text.isprintable():
        raise Fault("AuthBadPathPrefix", step, refusal or "is not printable")
    return text


def _allowed(
    field: str, written: tuple[crd.HTTPAuthorizationServerAllowedHeaders, ...]
) -> tuple[nodes.ValueMatch, ...]:
    return tuple(_match(f"httpSettings.{field}[{index}]", it) for index, it in enumerate(written))


def _allowed_upstream(
    written: tuple[crd.HTTPAuthorizationServerAllowedHeaders, ...],
) -> tuple[nodes.ValueMatch, ...]:
    """Envoy leaves out what no server may change, whatever a pattern says; a name is told."""
    field = "allowedUpstreamHeaders"
    for index, it in enumerate(written):
        if it.exact and (refusal := headers.request_refusal(it.exact)):
            text = f"{it.exact[:60]!r} {refusal}"
            raise Fault("AuthBadAllowedHeader", f"httpSettings.{field}[{index}].exact", text)
    return _allowed(field, written)


def _match(step: str, it: crd.HTTPAuthorizationServerAllowedHeaders) -> nodes.ValueMatch:
    ignore = it.ignore_case
    found = (
        (it.exact, nodes.ValueMatch("exact", it.exact or "", ignore)),
        (it.prefix, nodes.ValueMatch("prefix", it.prefix or "", ignore)),
        (it.suffix, nodes.ValueMatch("suffix", it.suffix or "", ignore)),
        (it.contains, nodes.ValueMatch("contains", it.contains or "", ignore)),
    )
    written = [match for text, match in found if text]
    if len(written) != 1:
        text = "needs exactly one of exact, prefix, suffix and contains, and text in it"
        raise Fault("AuthBadAllowedHeader", step, text)
    return written[0]
