"""External authorization: which service Envoy asks whether a request may pass, and how.

A virtual host of an HTTPProxy names one, or the configuration names one for every host. If it
cannot be asked, what it is to guard is closed. Source: HTTPProxy reference, "AuthorizationServer".
"""

from collections.abc import Mapping

from crds import authorization as crd
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import extensions, hints, nodes
from dag.engine.view import View
from dag.problems import Refused
from dag.problems.places import Place
from dag.problems.shared import Constructor, OfAuthorization
from dag.values import durations, headers

API_VERSIONS = ("", "projectcontour.io/v1alpha1")


@dataclass(frozen=True, slots=True)
class Authority:
    """A service, and whether it is asked about routes that do not say."""

    asked: nodes.Authorization
    is_default: bool = True


def authority(
    view: View, place: Place, namespace: str, written: crd.AuthorizationServer, say: OfAuthorization
) -> Authority:
    """The service that is asked; Refused if it cannot be."""
    at = place.at("extensionRef")
    extension = _extension(view, at, namespace, written.extension_ref, say)
    cluster = extension.cluster
    if cluster is None:
        name = _name(namespace, written.extension_ref)
        text = f"ExtensionService {name} cannot be asked; its status says why"
        raise Refused(say.not_found(at, text))
    policy = written.auth_policy or crd.AuthorizationPolicy()
    _check_context(place, written.service_type, policy, say)
    settings = written.http_settings or crd.HTTPAuthorizationServerSettings()
    of_http = place.at("httpSettings")
    headers_sent = of_http.at("allowedAuthorizationHeaders")
    headers_kept = of_http.at("allowedUpstreamHeaders")
    asked = nodes.Authorization(
        cluster=cluster,
        protocol=written.service_type,
        authority=_authority(cluster),
        timeout=_timeout(place, written.response_timeout, extension.timeout, say),
        fail_open=written.fail_open,
        body=_body(written.with_request_body),
        context=tuple(sorted(policy.context.items())),
        path_prefix=_prefix(of_http.at("pathPrefix"), settings.path_prefix, say),
        request_headers=_allowed(
            headers_sent, settings.allowed_authorization_headers, say.allowed_header
        ),
        upstream_headers=_allowed_upstream(
            headers_kept, settings.allowed_upstream_headers, say.allowed_header
        ),
    )
    return Authority(asked, not policy.disabled)


def on_host(
    known: Authority, place: Place, policy: crd.AuthorizationPolicy, say: OfAuthorization
) -> Authority:
    """The configuration's service, with the policy of a virtual host without its own service."""
    _check_context(place, known.asked.protocol, policy, say)
    return Authority(_with_context(known.asked, policy.context), not policy.disabled)


def on_route(
    known: Authority | None,
    place: Place,
    policy: crd.AuthorizationPolicy | None,
    say: OfAuthorization,
) -> nodes.Authorization | nodes.Off | None:
    """What a route says; None if its host decides. A route's context is added to the host's."""
    if known is None or policy is None:
        return None
    _check_context(place, known.asked.protocol, policy, say)
    if policy.disabled:
        return nodes.OFF
    return _with_context(known.asked, policy.context)


def _with_context(asked: nodes.Authorization, context: Mapping[str, str]) -> nodes.Authorization:
    return replace(asked, context=tuple(sorted({**dict(asked.context), **context}.items())))


def _check_context(
    place: Place, protocol: str, policy: crd.AuthorizationPolicy, say: OfAuthorization
) -> None:
    if policy.context and protocol == "http":
        at = place.at("authPolicy").at("context")
        raise Refused(say.context(at, "a service that speaks HTTP is told no context"))


def _name(namespace: str, reference: crd.ExtensionServiceReference | None) -> NamespacedName | None:
    if reference is None or not reference.name:
        return None
    return NamespacedName(reference.namespace or namespace, reference.name)


def _extension(
    view: View,
    place: Place,
    namespace: str,
    reference: crd.ExtensionServiceReference | None,
    say: OfAuthorization,
) -> extensions.Extension:
    name = _name(namespace, reference)
    if reference is not None and (reference.api_version or "") not in API_VERSIONS:
        text = f"{(reference.api_version or '')[:60]!r} is no version of ExtensionService"
        raise Refused(say.version(place.at("apiVersion"), text))
    found = view.ask(extensions.extension, name) if name is not None else None
    if found is None:
        raise Refused(say.not_found(place, _missing(view, name)))
    return found


def _missing(view: View, name: NamespacedName | None) -> str:
    if name is None:
        return "names no ExtensionService"
    hint = hints.hint(view, ObjectRef("ExtensionService", *name))
    return f"ExtensionService {name} not found{hint}"


def _authority(cluster: nodes.ExtensionCluster) -> str:
    """The authority of requests to the service: the server name of its TLS, if it has one."""
    sni = cluster.tls.sni if cluster.tls is not None else ""
    return sni or f"extension.{cluster.name.namespace}.{cluster.name.name}"


def _timeout(
    place: Place, own: str | None, of_extension: float | None, say: OfAuthorization
) -> float | None:
    if own is None:
        return of_extension
    return durations.timeout(place.at("responseTimeout"), own, say.timeout)


def _body(
    written: crd.AuthorizationServerBufferSettings | None,
) -> nodes.AuthorizationBody | None:
    if written is None:
        return None
    return nodes.AuthorizationBody(
        written.max_request_bytes, written.allow_partial_message, written.pack_as_bytes
    )


def _prefix(place: Place, text: str, say: OfAuthorization) -> str:
    if text and not text.startswith("/"):
        raise Refused(say.path_prefix(place, "must start with /"))
    if (refusal := headers.value_refusal(text)) or not text.isprintable():
        raise Refused(say.path_prefix(place, refusal or "is not printable"))
    return text


Allowed = tuple[crd.HTTPAuthorizationServerAllowedHeaders, ...]


def _allowed(
    place: Place, written: Allowed, not_valid: Constructor
) -> tuple[nodes.ValueMatch, ...]:
    found = enumerate(written)
    return tuple(_match(place.item(index), it, not_valid) for index, it in found)


def _allowed_upstream(
    place: Place, written: Allowed, not_valid: Constructor
) -> tuple[nodes.ValueMatch, ...]:
    """Refuses exact names of headers that no server may change; of patterns, Envoy skips these."""
    for index, it in enumerate(written):
        if it.exact and (refusal := headers.request_refusal(it.exact)):
            text = f"{it.exact[:60]!r} {refusal}"
            raise Refused(not_valid(place.item(index).at("exact"), text))
    return _allowed(place, written, not_valid)


def _match(
    place: Place, it: crd.HTTPAuthorizationServerAllowedHeaders, not_valid: Constructor
) -> nodes.ValueMatch:
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
        raise Refused(not_valid(place, text))
    return written[0]
