"""Headers that a route or one of its Services sets and removes.

`%CONTOUR_SERVICE_NAME%` and `%CONTOUR_SERVICE_PORT%` on a route mean the Service that a request
goes to: such headers move to each of them. If it goes to none, the header is removed, so that a
client cannot send one in its place. `Host` of requests is a rewrite of the host. Source: HTTPProxy
reference, "HeadersPolicy". Elsewhere: variables (`dag.values.formats`).
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from crds import policies
from crds.records import replace
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.problems.shared import Constructor
from dag.values import formats, headers

Policy = policies.HeadersPolicy | None
Side = Literal["request", "response"]

_NAMESPACE, _SERVICE, _PORT = (
    "CONTOUR_NAMESPACE",
    "CONTOUR_SERVICE_NAME",
    "CONTOUR_SERVICE_PORT",
)
_OF_SERVICES = frozenset({_SERVICE, _PORT})


class _Reading(NamedTuple):
    """The object whose headers are read, and the values of the variables in them."""

    place: Place
    side: Side
    variables: Mapping[str, str]
    is_of_service: bool = False
    """The headers are set on a Service, not on a route."""


def of_route(place: Place, policy: Policy, side: Side) -> nodes.HeaderPolicy | None:
    """The headers for every Service of a route, except `Host`."""
    if policy is None:
        return None
    rest = tuple(it for it in policy.set if not _is_of_service(it))
    return _policy(_Reading(place, side, _variables(place)), replace(policy, set=rest))


def of_answer(place: Place, policy: Policy, side: Side) -> Findings[nodes.HeaderPolicy | None]:
    """The headers of a route without a Service: those that name one are removed."""
    found = of_route(place, policy, side)
    names = [it.name for it in policy.set if _is_of_service(it)] if policy else []
    for name in names:
        yield problems.header_not_set(place.at(f"{side}HeadersPolicy").at("set"), name)
    removed = tuple(_changeable(_Reading(place, side, {}), it) for it in names)
    if not removed:
        return found
    known = found or nodes.HeaderPolicy()
    return replace(known, remove=(*known.remove, *removed))


class Target(NamedTuple):
    """A Service of a route, for the variables that name it."""

    route: Place
    place: Place
    service: str
    port: int

    def variables(self) -> dict[str, str]:
        """The values of the variables."""
        return _variables(self.place) | {_SERVICE: self.service, _PORT: str(self.port)}


def of_service(at: Target, own: Policy, route: Policy, side: Side) -> nodes.HeaderPolicy | None:
    """The headers for one Service of a route: its own, and those of the route that name it."""
    if own is None and route is None:
        return None
    variables = at.variables()
    named = {it.name.lower() for it in (own.set if own else ())}
    moved = (it for it in route.set if _is_of_service(it)) if route else ()
    about = policies.HeadersPolicy(set=tuple(it for it in moved if it.name.lower() not in named))
    told = _policy(_Reading(at.route, side, variables), about)
    mine = _policy(_Reading(at.place, side, variables, is_of_service=True), own) if own else None
    if told is None or mine is None:
        return told or mine
    return replace(mine, set=(*mine.set, *told.set))


def host(place: Place, policy: Policy) -> tuple[str, str]:
    """The new host of requests: a literal, or the header that has it; both may be empty."""
    reading = _Reading(place, "request", _variables(place))
    text = _host(reading, policy)
    if not text:
        return "", ""
    if header := formats.header_named(text):
        return "", header
    return _literal(reading, text), ""


def host_of_service(place: Place, policy: Policy) -> str:
    """The new host of requests to a Service; here it cannot be read from a header."""
    reading = _Reading(place, "request", _variables(place), is_of_service=True)
    text = _host(reading, policy)
    return _literal(reading, text) if text else ""


def _host(reading: _Reading, policy: Policy) -> str:
    written = [it.value for it in policy.set if _is_host(it)] if policy is not None else []
    if len(written) > 1:
        raise _not_valid(reading, "header Host is set twice")
    return written[0] if written else ""


def _variables(place: Place) -> dict[str, str]:
    return {_NAMESPACE: place.subject.namespace}


def _policy(reading: _Reading, policy: policies.HeadersPolicy) -> nodes.HeaderPolicy | None:
    values: dict[str, nodes.Value] = {}
    for it in _settable(reading, policy.set):
        name = _changeable(reading, it.name)
        if name in values:
            raise _not_valid(reading, f"header {it.name} is set twice")
        values[name] = _value(reading, it.value)
    removed = tuple(dict.fromkeys(_changeable(reading, it) for it in policy.remove))
    found = nodes.HeaderPolicy(set=tuple(values.items()), remove=removed)
    return found if values or removed else None


def _settable(
    reading: _Reading, written: Iterable[policies.HeaderValue]
) -> Iterable[policies.HeaderValue]:
    """The headers to set, without `Host` of requests (a rewrite); in responses it is refused."""
    return (it for it in written if reading.side == "response" or not _is_host(it))


def _is_host(it: policies.HeaderValue) -> bool:
    return it.name.lower() == "host"


def _is_of_service(it: policies.HeaderValue) -> bool:
    return not _OF_SERVICES.isdisjoint(formats.names(it.value))


def _changeable(reading: _Reading, name: str) -> str:
    refusal = _REFUSALS[reading.side](name)
    if refusal:
        raise _not_valid(reading, f"header {name!r} {refusal}")
    return name.lower()


_REFUSALS = {"request": headers.request_refusal, "response": headers.change_refusal}


def _value(reading: _Reading, text: str) -> nodes.Value:
    if refusal := headers.value_refusal(text):
        raise _not_valid(reading, f"the value {text[:60]!r} {refusal}")
    return formats.value(text, reading.variables)


def _literal(reading: _Reading, text: str) -> str:
    found = _value(reading, text)
    if not isinstance(found, str):
        raise _not_valid(reading, "Host takes literal text, or on routes one %REQ(name)%")
    return found


_OF_ROUTE: Mapping[Side, Constructor] = {
    "request": problems.request_headers_not_valid,
    "response": problems.response_headers_not_valid,
}
_OF_SERVICE: Mapping[Side, Constructor] = {
    "request": problems.service_request_headers_not_valid,
    "response": problems.service_response_headers_not_valid,
}


def _not_valid(reading: _Reading, text: str) -> Refused:
    at = reading.place.at(f"{reading.side}HeadersPolicy")
    return Refused((_OF_SERVICE if reading.is_of_service else _OF_ROUTE)[reading.side](at, text))
