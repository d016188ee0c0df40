"""The authorization of a SecurityPolicy: its rules, of which the first that fits decides.

A rule that cannot be read is never skipped: whether it allows or denies, it closes the routes.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Literal

from crds.envoygateway import policyauthorization as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.values import addresses, headers, regexes

MOST_TURNS = 16
"""How often Allow and Deny rules may alternate: each change is one more nested Envoy condition."""

Payloads = Mapping[str, str]
"""By the name of a token provider: the key under which the claims of its tokens are kept."""


def access(written: crd.Authorization, at: Place, payloads: Payloads) -> nodes.Access:
    """The rules as a node; Refused if one of them cannot be built."""
    rules = tuple(
        _rule(it, at.at("rules", index), payloads) for index, it in enumerate(written.rules)
    )
    turns = sum(a.action != b.action for a, b in itertools.pairwise(rules))
    if turns >= MOST_TURNS:
        text = f"Allow and Deny may take turns {MOST_TURNS} times at most"
        raise Refused(complaints.policy_closes(at.at("rules"), text))
    return nodes.Access(rules, _action(written.default_action or "Deny"))


def _action(text: str) -> Literal["ALLOW", "DENY"]:
    return "ALLOW" if text == "Allow" else "DENY"


def _rule(written: crd.AuthorizationRule, at: Place, payloads: Payloads) -> nodes.AccessRule:
    operation, principal = written.operation, written.principal
    path = operation.path if operation is not None else None
    return nodes.AccessRule(
        action=_action(written.action),
        methods=operation.methods if operation is not None else (),
        path=_path(path, at.at("operation").at("path")) if path is not None else None,
        is_other_path=path is not None and path.invert,
        ranges=tuple(_ranges(principal, at.at("principal"))),
        headers=tuple(_headers(principal, at.at("principal"))),
        claims=tuple(_claims(principal, at.at("principal"), payloads)),
    )


def _path(written: crd.OperationPath, at: Place) -> nodes.Path:
    if written.type == "RegularExpression":
        if why := regexes.refusal(written.value):
            raise Refused(complaints.policy_closes(at.at("value"), f"{written.value[:60]!r} {why}"))
        return nodes.Regex(written.value)
    if not written.value.startswith("/"):
        text = f"{written.value[:60]!r} does not begin with /"
        raise Refused(complaints.policy_closes(at.at("value"), text))
    if written.type == "Exact":
        return nodes.Exact(written.value)
    path = written.value.rstrip("/")
    return nodes.Segments(path) if path else nodes.Prefix("/")


def _ranges(written: crd.Principal | None, at: Place) -> Iterator[nodes.IpRange]:
    for index, text in enumerate(written.client_cidrs if written is not None else ()):
        network = addresses.network(text)
        if network is None:
            told = f"{text[:60]!r} is not a range in CIDR notation"
            raise Refused(complaints.policy_closes(at.at("clientCIDRs", index), told))
        yield nodes.IpRange(network, "Remote")


def _headers(written: crd.Principal | None, at: Place) -> Iterator[tuple[str, tuple[str, ...]]]:
    for index, it in enumerate(written.headers if written is not None else ()):
        name = it.name.lower()
        if why := headers.name_refusal(name):
            place = at.at("headers", index).at("name")
            raise Refused(complaints.policy_closes(place, f"{name[:60]!r} {why}"))
        yield name, tuple(dict.fromkeys(it.values))


def _claims(written: crd.Principal | None, at: Place, payloads: Payloads) -> Iterator[nodes.Claims]:
    wanted = written.jwt if written is not None else None
    if wanted is None:
        return
    payload = payloads.get(wanted.provider)
    if payload is None:
        text = f"{wanted.provider[:60]!r} is no provider of spec.jwt"
        raise Refused(complaints.policy_closes(at.at("jwt").at("provider"), text))
    for index, it in enumerate(wanted.claims):
        path = tuple(it.name.split("."))
        if not all(path):
            place = at.at("jwt").at("claims", index).at("name")
            raise Refused(complaints.policy_closes(place, f"{it.name[:60]!r} has an empty part"))
        yield nodes.Claims(payload, path, it.values, it.value_type == "StringArray")
    for scope in wanted.scopes:
        yield nodes.Claims(payload, ("scope",), (scope,), is_list=True)
