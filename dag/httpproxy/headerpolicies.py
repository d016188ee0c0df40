"""Headers that a route sets and removes.

Values are literal text, save `%CONTOUR_NAMESPACE%`. Envoy's variables are not served yet: a
header that needs one is removed, so that a client cannot send in its place what the proxy was to
say, and a warning tells. `Host` of requests is a rewrite of the host. Source: HTTPProxy
reference, "HeadersPolicy".
"""

import re
from collections.abc import Iterable

from crds import policies
from dag import headers, nodes
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place, Refused


def of_requests(
    place: Place, policy: policies.HeadersPolicy | None
) -> Findings[nodes.HeaderPolicy | None]:
    """What happens to the headers of requests, `Host` aside."""
    if policy is None:
        return None
    at = place.at("requestHeadersPolicy")
    others = [it for it in policy.set if not _is_host(it)]
    return (yield from _policy(at, "RequestHeadersPolicyInvalid", others, policy.remove))


def of_responses(
    place: Place, policy: policies.HeadersPolicy | None
) -> Findings[nodes.HeaderPolicy | None]:
    """What happens to the headers of responses."""
    if policy is None:
        return None
    at = place.at("responseHeadersPolicy")
    return (yield from _policy(at, "ResponseHeaderPolicyInvalid", policy.set, policy.remove))


def host(place: Place, policy: policies.HeadersPolicy | None) -> Findings[str]:
    """The host that requests are forwarded with; empty for their own."""
    at = place.at("requestHeadersPolicy")
    written = [it.value for it in policy.set if _is_host(it)] if policy is not None else []
    if not written:
        return ""
    if len(written) > 1:
        raise _not_valid(at, "RequestHeadersPolicyInvalid", "header Host is set twice")
    if variable := _variable(written[0]):
        text = f"the variable {variable} is not served yet, so the host stays as it is"
        yield problems.ignored_field(at.at("set"), text)
        return ""
    return _literal(at, "RequestHeadersPolicyInvalid", written[0])


def _policy(
    place: Place, reason: str, written: Iterable[policies.HeaderValue], remove: tuple[str, ...]
) -> Findings[nodes.HeaderPolicy | None]:
    values: dict[str, str] = {}
    removed = dict.fromkeys(_changeable(place, reason, it) for it in remove)
    for it in written:
        name = _changeable(place, reason, it.name)
        if name in values:
            raise _not_valid(place, reason, f"header {it.name} is set twice")
        if variable := _variable(it.value):
            yield problems.header_not_set(place.at("set"), it.name, variable)
            removed[name] = None
        else:
            values[name] = _literal(place, reason, it.value)
    found = nodes.HeaderPolicy(set=tuple(values.items()), remove=tuple(removed))
    return found if values or removed else None


def _is_host(it: policies.HeaderValue) -> bool:
    return it.name.lower() == "host"


def _changeable(place: Place, reason: str, name: str) -> str:
    if refusal := headers.change_refusal(name):
        raise _not_valid(place, reason, f"header {name!r} {refusal}")
    return name.lower()


def _literal(place: Place, reason: str, value: str) -> str:
    text = value.replace("%CONTOUR_NAMESPACE%", place.subject.namespace)
    if refusal := headers.value_refusal(text):
        raise _not_valid(place, reason, f"the value {text[:60]!r} {refusal}")
    return text


# The variables that upstream Contour hands on to Envoy; any other % is a plain character.
_VARIABLE = re.compile(
    r"%(CONTOUR_SERVICE_(NAME|PORT)|(DOWNSTREAM|UPSTREAM)_[A-Z0-9_]+|HOSTNAME|PROTOCOL"
    r"|RESPONSE_(FLAGS|CODE_DETAILS)|REQ\([^%()]+\))%"
)


def _variable(value: str) -> str:
    """The first variable in a value; empty if there is none."""
    found = _VARIABLE.search(value)
    return found.group(0) if found else ""


def _not_valid(place: Place, reason: str, text: str) -> Refused:
    return Refused(problems.route_not_valid(place, reason, text))
