"""How many requests are let through: counted by each Envoy, or by a service for all.

Source: HTTPProxy reference, "RateLimitPolicy". The default policy of the configuration is read here
too. Elsewhere: the service (`dag.configuration.settings`).
"""

from collections.abc import Iterable

from crds import ratelimits as crd
from crds.conditions import HeaderMatchCondition
from dag import nodes
from dag.faults import Fault
from dag.httpproxy import headermatches
from dag.httpproxy.clarity import NotClear
from dag.values import headers

NOT_VALID = "RateLimitPolicyNotValid"
MOST = 2**32 - 1
STATUSES = frozenset(
    {*range(400, 418), *range(421, 425), 426, 428, 429, 431, *range(500, 509), 510, 511}
)
"""The codes of errors that Envoy's filter takes (`envoy.type.v3.StatusCode`)."""


def local(policy: crd.RateLimitPolicy | None) -> nodes.LocalRateLimit | None:
    """What each Envoy counts."""
    if policy is None or policy.local is None:
        return None
    written = policy.local
    status = written.response_status_code or 429
    if status not in STATUSES:
        raise Fault(NOT_VALID, "local.responseStatusCode", f"{status} is not known to Envoy")
    if written.requests + written.burst > MOST:
        raise Fault(NOT_VALID, "local.burst", f"with requests it is more than {MOST}")
    return nodes.LocalRateLimit(
        requests=written.requests,
        unit=written.unit,
        burst=written.burst,
        status=status,
        response_headers=tuple(
            _header(f"local.responseHeadersToAdd[{index}]", it.name, it.value)
            for index, it in enumerate(written.response_headers_to_add)
        ),
    )


def descriptors(policy: crd.GlobalRateLimitPolicy | None) -> nodes.RateLimits | None:
    """What the service is asked."""
    if policy is None or not policy.descriptors:
        return None
    return nodes.RateLimits(
        tuple(
            tuple(
                _entry(f"global.descriptors[{index}].entries[{number}]", entry)
                for number, entry in enumerate(it.entries)
            )
            for index, it in enumerate(policy.descriptors)
        )
    )


def _entry(step: str, entry: crd.RateLimitDescriptorEntry) -> nodes.DescriptorEntry:
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
            _check_name(step, header.header_name)
            return nodes.RequestHeader(header.header_name.lower(), header.descriptor_key)
        case [crd.RequestHeaderValueMatchDescriptor() as match]:
            found = _conditions(f"{step}.requestHeaderValueMatch", match.headers)
            return nodes.HeaderValueMatch(found, match.value, match.expect_match)
        case [crd.RemoteAddressDescriptor()]:
            return nodes.RemoteAddress()
        case _:
            text = (
                "needs exactly one of genericKey, requestHeader, requestHeaderValueMatch and "
                "remoteAddress"
            )
            raise Fault(NOT_VALID, step, text)


def _conditions(
    step: str, written: Iterable[HeaderMatchCondition]
) -> tuple[nodes.HeaderMatch, ...]:
    conditions = tuple(written)
    if not conditions:
        raise Fault(NOT_VALID, step, "needs at least one header")
    try:
        return tuple(headermatches.match(it) for it in conditions)
    except NotClear as why:
        raise Fault(NOT_VALID, step, why.text) from None


def _header(step: str, name: str, value: str) -> tuple[str, str]:
    refusal = headers.change_refusal(name)
    if refusal or (refusal := headers.value_refusal(value)):
        raise Fault(NOT_VALID, step, f"header {name[:60]!r} {refusal}")
    return name.lower(), value


def _check_name(step: str, name: str) -> None:
    if refusal := headers.name_refusal(name):
        raise Fault(NOT_VALID, step, f"header {name[:60]!r} {refusal}")
