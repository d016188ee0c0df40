"""Rate limits: local ones, which each Envoy counts, and global ones, which a service counts.

Source: HTTPProxy reference, "RateLimitPolicy". The default policy of the configuration is read here
too. Elsewhere: the service (`dag.configuration.settings`).
"""

from collections.abc import Iterable

from crds import ratelimits as crd
from crds.conditions import HeaderMatchCondition
from dag import nodes
from dag.httpproxy import headermatches
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import headers

MOST = 2**32 - 1
STATUSES = frozenset(
    {*range(400, 418), *range(421, 425), 426, 428, 429, 431, *range(500, 509), 510, 511}
)
"""The codes of errors that Envoy's filter takes (`envoy.type.v3.StatusCode`)."""


def local(place: Place, policy: crd.RateLimitPolicy | None) -> nodes.LocalRateLimit | None:
    """The local limit."""
    if policy is None or policy.local is None:
        return None
    written, at = policy.local, place.at("local")
    status = written.response_status_code or 429
    if status not in STATUSES:
        text = f"{status} is not known to Envoy"
        raise Refused(problems.rate_limit_not_valid(at.at("responseStatusCode"), text))
    if written.requests + written.burst > MOST:
        text = f"with requests it is more than {MOST}"
        raise Refused(problems.rate_limit_not_valid(at.at("burst"), text))
    return nodes.LocalRateLimit(
        requests=written.requests,
        unit=written.unit,
        burst=written.burst,
        status=status,
        response_headers=tuple(
            _header(at.at("responseHeadersToAdd", index), it.name, it.value)
            for index, it in enumerate(written.response_headers_to_add)
        ),
    )


def descriptors(place: Place, policy: crd.GlobalRateLimitPolicy | None) -> nodes.RateLimits | None:
    """The descriptors for the rate limit service."""
    if policy is None or not policy.descriptors:
        return None
    at = place.at("global")
    return nodes.RateLimits(
        tuple(
            tuple(
                _entry(at.at("descriptors", index).at("entries", number), entry)
                for number, entry in enumerate(it.entries)
            )
            for index, it in enumerate(policy.descriptors)
        )
    )


def _entry(place: Place, entry: crd.RateLimitDescriptorEntry) -> nodes.DescriptorEntry:
    written = [
        it
        for it in (
            entry.generic_key,
            entry.request_header,
            entry.request_header_value_match,
            entry.remote_address,
        )
        if it is not None
    ]
    match written:
        case [crd.GenericKeyDescriptor() as generic]:
            return nodes.GenericKey(generic.value, generic.key or "generic_key")
        case [crd.RequestHeaderDescriptor() as header]:
            _check_name(place, header.header_name)
            return nodes.RequestHeader(header.header_name.lower(), header.descriptor_key)
        case [crd.RequestHeaderValueMatchDescriptor() as match]:
            found = _conditions(place.at("requestHeaderValueMatch"), match.headers)
            return nodes.HeaderValueMatch(found, match.value, match.expect_match)
        case [crd.RemoteAddressDescriptor()]:
            return nodes.RemoteAddress()
        case _:
            text = (
                "needs exactly one of genericKey, requestHeader, requestHeaderValueMatch and "
                "remoteAddress"
            )
            raise Refused(problems.rate_limit_not_valid(place, text))


def _conditions(
    place: Place, written: Iterable[HeaderMatchCondition]
) -> tuple[nodes.HeaderMatch, ...]:
    conditions = tuple(written)
    if not conditions:
        raise Refused(problems.rate_limit_not_valid(place, "needs at least one header"))
    not_valid = problems.rate_limit_not_valid
    return tuple(headermatches.match(place, it, not_valid) for it in conditions)


def _header(place: Place, name: str, value: str) -> tuple[str, str]:
    refusal = headers.change_refusal(name)
    if refusal or (refusal := headers.value_refusal(value)):
        raise Refused(problems.rate_limit_not_valid(place, f"header {name[:60]!r} {refusal}"))
    return name.lower(), value


def _check_name(place: Place, name: str) -> None:
    if refusal := headers.name_refusal(name):
        raise Refused(problems.rate_limit_not_valid(place, f"header {name[:60]!r} {refusal}"))
