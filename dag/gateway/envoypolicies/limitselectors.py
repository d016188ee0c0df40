"""Which requests a limit of a BackendTrafficPolicy counts: its client selectors as conditions.

All conditions of all selectors have to hold. A selector that cannot be built closes the routes of
the policy. Source: Envoy Gateway 1.9, "RateLimitSelectCondition".
"""

from collections.abc import Iterator
from typing import TypeAlias

from crds.envoygateway import policyratelimits as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.values import addresses, headers, regexes

MAX_PATH_PROGRAM_SIZE = 100
"""The most RE2 instructions that Envoy takes in an expression on the path (CEL), whatever its
bootstrap allows elsewhere."""
MOST_CONDITIONS = 1000
"""The most conditions of all rules of a policy together: each of its routes has them all."""

_Compared: TypeAlias = crd.CountedHeader | crd.CountedParameter


def entries(found: crd.LimitRule, at: Place) -> tuple[nodes.CountedEntry, ...]:
    """The conditions of a rule; Refused if one makes no sense."""
    places = ((at.at("clientSelectors", number), it) for number, it in
              enumerate(found.client_selectors))  # fmt: skip
    return tuple(entry for place, it in places for entry in _entries(it, place))


def _entries(found: crd.ClientSelector, at: Place) -> Iterator[nodes.CountedEntry]:
    for index, header in enumerate(found.headers):
        yield _header(header, at.at("headers", index))
    if found.methods:
        yield _methods(found.methods)
    if found.path is not None:
        yield nodes.PathMatch(_path(found.path, at.at("path")), found.path.invert)
    for index, parameter in enumerate(found.query_params):
        yield _parameter(parameter, at.at("queryParams", index))
    if (clients := found.source_cidr) is not None:
        cidr = _range(clients.value, at.at("sourceCIDR").at("value"))
        yield nodes.ClientRange(cidr, clients.invert)
        if clients.type == "Distinct":
            yield nodes.RemoteAddress()


def _header(found: crd.CountedHeader, at: Place) -> nodes.CountedEntry:
    name = found.name.lower()
    if why := headers.name_refusal(name):
        raise _refused(at.at("name"), f"{name[:60]!r} {why}")
    value = _compared(found, at)
    if value is None:
        return nodes.RequestHeader(name, name)
    return nodes.HeaderValueMatch((nodes.HeaderMatch(name, value),), "yes", not found.invert)


def _parameter(found: crd.CountedParameter, at: Place) -> nodes.CountedEntry:
    if "\0" in found.name:
        raise _refused(at.at("name"), "holds a NUL character")
    value = _compared(found, at)
    if value is None:
        return nodes.QueryValue(found.name)
    return nodes.QueryValueMatch(nodes.QueryMatch(found.name, value), not found.invert)


def _compared(found: _Compared, at: Place) -> nodes.ValueMatch | None:
    """How a value is compared; None if each value is counted separately."""
    if found.type == "Distinct":
        if found.value is not None or found.invert:
            field = "value" if found.value is not None else "invert"
            raise _refused(at.at(field), "must be absent for type Distinct")
        return None
    if found.value is None:
        raise _refused(at.at("value"), f"must be set for type {found.type}")
    if found.type == "Exact":
        return nodes.ValueMatch("exact", found.value)
    return nodes.ValueMatch("regex", _expression(found.value, at.at("value")))


def _methods(found: tuple[crd.CountedMethod, ...]) -> nodes.CountedEntry:
    """Any method will do. Envoy joins conditions by AND: not all of the negations may hold."""
    every = dict.fromkeys((it.value, not it.invert) for it in found)
    opposites = (
        nodes.HeaderMatch(":method", nodes.ValueMatch("exact", method), inverted=is_meant)
        for method, is_meant in every
    )
    return nodes.HeaderValueMatch(tuple(opposites), "yes", expect=False)


def _path(found: crd.CountedPath, at: Place) -> nodes.Path:
    text, place = found.value, at.at("value")
    if found.type == "RegularExpression":
        _expression(text, place)
        if why := regexes.refusal(f"^(?:{text})$", MAX_PATH_PROGRAM_SIZE):
            raise _refused(place, f"{text[:60]!r} {why}")
        return nodes.Regex(text)
    if not text.startswith("/"):
        raise _refused(place, f"{text[:60]!r} does not start with /")
    if found.type == "Exact":
        return nodes.Exact(text)
    whole = text.rstrip("/")
    return nodes.Segments(whole) if whole else nodes.Prefix("/")


def _expression(text: str, at: Place) -> str:
    if why := regexes.refusal(text) or ("" if text else "is empty"):
        raise _refused(at, f"{text[:60]!r} {why}")
    return text


def _range(text: str, at: Place) -> str:
    network = addresses.network(text)
    if network is None:
        raise _refused(at, f"{text[:60]!r} is not a range in CIDR notation")
    return network


def _refused(at: Place, why: str) -> Refused:
    return Refused(complaints.policy_closes(at, why))
