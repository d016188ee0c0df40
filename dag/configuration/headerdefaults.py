"""Headers that the configuration sets and removes on every route that does not say otherwise.

What a Service or its route says of a header wins. Source: Contour's configuration reference,
"PolicyConfig".
"""

from collections.abc import Iterable, Mapping

from crds.contourconfiguration import DefaultHeadersPolicy, PolicySettings
from crds.records import dataclass
from dag import nodes
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place
from dag.values import formats, headers


@dataclass(frozen=True, slots=True)
class Defaults:
    """The headers, names in lower case; values may have variables in them."""

    request: tuple[tuple[str, str], ...] = ()
    request_remove: tuple[str, ...] = ()
    response: tuple[tuple[str, str], ...] = ()
    response_remove: tuple[str, ...] = ()
    is_for_ingress: bool = False


def defaults(spec: Place, policy: PolicySettings | None) -> Findings[Defaults]:
    """What the configuration says; what cannot be set is reported and left out."""
    if policy is None:
        return Defaults()
    request = policy.request_headers or DefaultHeadersPolicy()
    response = policy.response_headers or DefaultHeadersPolicy()
    requests = spec.at("policy").at("requestHeaders")
    responses = spec.at("policy").at("responseHeaders")
    return Defaults(
        (yield from _values(requests.at("set"), request.set)),
        (yield from _names(requests.at("remove"), request.remove)),
        (yield from _values(responses.at("set"), response.set)),
        (yield from _names(responses.at("remove"), response.remove)),
        bool(policy.apply_to_ingress),
    )


def request(
    own: nodes.HeaderPolicy | None, found: Defaults, variables: Mapping[str, str]
) -> nodes.HeaderPolicy | None:
    """The changes of requests to a Service, with the defaults."""
    return _merged(own, found.request, found.request_remove, variables)


def response(
    own: nodes.HeaderPolicy | None, found: Defaults, variables: Mapping[str, str]
) -> nodes.HeaderPolicy | None:
    """The changes of its answers, with the defaults."""
    return _merged(own, found.response, found.response_remove, variables)


def _merged(
    own: nodes.HeaderPolicy | None,
    values: tuple[tuple[str, str], ...],
    removed: tuple[str, ...],
    variables: Mapping[str, str],
) -> nodes.HeaderPolicy | None:
    if not values and not removed:
        return own
    known = own or nodes.HeaderPolicy()
    named = {*(name for name, _ in (*known.set, *known.add)), *known.remove}
    more = tuple((name, formats.value(it, variables)) for name, it in values if name not in named)
    found = nodes.HeaderPolicy(
        (*known.set, *more),
        known.add,
        (*known.remove, *(it for it in removed if it not in named)),
    )
    return None if found == nodes.HeaderPolicy() else found


def _values(place: Place, written: Mapping[str, str]) -> Findings[tuple[tuple[str, str], ...]]:
    found: list[tuple[str, str]] = []
    for name, value in sorted(written.items()):
        refusal = headers.change_refusal(name)
        if refusal or (refusal := headers.value_refusal(value)):
            yield problems.invalid_value(place.item(name[:60]), refusal)
        else:
            found.append((name.lower(), value))
    return tuple(found)


def _names(place: Place, written: Iterable[str]) -> Findings[tuple[str, ...]]:
    found: list[str] = []
    for index, name in enumerate(written):
        if refusal := headers.change_refusal(name):
            yield problems.invalid_value(place.item(index), f"{name[:60]!r} {refusal}")
        else:
            found.append(name.lower())
    return tuple(found)
