"""Policies of routes that are merged with those of their listeners: what both mean together."""

import re

import pytest

from crds.meta import ObjectRef
from dag import hosts, nodes, tables
from dag.engine.incremental import Engine
from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway.envoypolicies import securitycredentials
from dag.gateway.envoypolicies import trafficpolicies as trafficpolicies_
from dag.gateway.envoypolicies.policymerging import joined
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway import test_securitypolicies as guards
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    grant,
    http,
    listener,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.gateway.test_fleets import configured
from tests.dag.gateway.test_securitypolicies import GATEWAY, ROUTE, allowing, part
from tests.dag.world import FLEET, apply, delete, key, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2") + route("r")
STRATEGIC, JSON = "mergeType: StrategicMerge", "mergeType: JSONMerge"
UNSERVED = "authorization: {rules: [{action: Allow, cel: 'true'}]}"
CORS = "cors: {allowOrigins: ['https://a.com']}"


def policy(name: str, spec: str, *targets: str, kind: str = "SecurityPolicy") -> str:
    """A policy for the route `r` if no target is given."""
    return guards.policy(name, spec, *targets).replace("kind: SecurityPolicy", f"kind: {kind}")


def traffic(name: str, spec: str, *targets: str) -> str:
    return policy(name, spec, *targets, kind="BackendTrafficPolicy")


def served(engine: Engine, fleet: str = DEFAULT_FLEET) -> nodes.Route:
    """The first route of a listener."""
    found = engine.answer(hosts.virtual_host, nodes.HostKey(fleet, "ingress_http", "*"))
    assert found is not None
    return found.routes[0]


def policies(engine: Engine, fleet: str = DEFAULT_FLEET) -> nodes.Policies:
    found = served(engine, fleet).policies
    return found if found is not None else nodes.Policies()


def forward(engine: Engine) -> nodes.Forward:
    found = served(engine).action
    assert isinstance(found, nodes.Forward), found
    return found


def status(engine: Engine, fleet: str = DEFAULT_FLEET) -> int:
    """What is answered in place of a backend."""
    found = served(engine, fleet).action
    assert isinstance(found, nodes.Respond), found
    return found.status


def told(engine: Engine, name: str, type_: str, kind: str = "SecurityPolicy") -> dict[str, str]:
    """By Gateway: a condition of a policy, with its message."""
    found = engine.answer(STATUSES[kind], key(name))
    assert isinstance(found, PolicyStatus)
    return {
        ancestor.ancestor.name: f"{it.status} {it.reason}: {it.message}"
        for ancestor in found.ancestors
        for it in ancestor.conditions
        if it.type == type_
    }


@pytest.mark.parametrize("type_", [STRATEGIC, JSON])
def test_what_both_policies_say_holds(type_: str) -> None:
    it = world(GIVEN + policy("own", f"{type_}, {CORS}") + policy("gw", allowing("gw"), GATEWAY))
    found = policies(it)
    assert isinstance(found.cors, nodes.Cors)
    assert isinstance(found.access, nodes.Access)
    assert [it.name for it in served(it).attached] == ["own", "gw"]
    assert told(it, "own", "Merged") == {"gw": "True Merged: merged with default/gw"}
    merged = "for parts of Gateway default/gw, policies are merged with it that are more specific"
    assert told(it, "gw", "Merged") == {"gw": f"True Merged: {merged}: default/own"}
    assert told(it, "gw", "Overridden") == {}


def test_a_policy_for_a_rule_that_is_not_there_is_merged_with_none() -> None:
    own = policy("own", f"{STRATEGIC}, {CORS}", part(ROUTE, "gone"))
    it = world(GIVEN + own + policy("gw", allowing("gw"), GATEWAY))
    assert told(it, "own", "Merged") == told(it, "gw", "Merged") == {}


def test_without_a_merge_type_the_nearer_policy_replaces_the_other() -> None:
    it = world(GIVEN + policy("own", CORS) + policy("gw", allowing("gw"), GATEWAY))
    assert policies(it).access is None
    assert told(it, "own", "Merged") == {}
    assert told(it, "gw", "Overridden") != {}


def test_an_edit_of_either_policy_takes_effect_and_so_does_one_that_goes() -> None:
    it = world(GIVEN + policy("own", f"{STRATEGIC}, {CORS}") + policy("gw", allowing("a"), GATEWAY))
    before = policies(it).access
    apply(it, policy("gw", allowing("b"), GATEWAY))
    assert policies(it).access not in {before, None}
    apply(it, policy("own", f"{STRATEGIC}, {allowing('c')}"))
    assert policies(it).cors is None
    delete(it, "SecurityPolicy", "gw")
    assert isinstance(policies(it).access, nodes.Access)
    assert told(it, "own", "Merged") == {}
    delete(it, "SecurityPolicy", "own")
    assert policies(it) == nodes.Policies()


def test_fields_of_a_field_are_merged_and_lists_are_replaced() -> None:
    pages = (
        "responseOverride: [{match: {statusCodes: [{value: %s}]}, response: {body: {inline: a}}}]"
    )
    own = f"{JSON}, timeout: {{http: {{requestTimeout: 2s}}}}, {pages % 503}"
    theirs = (
        "timeout: {http: {requestTimeout: 9s, streamIdleTimeout: 7s}}, retry: {numRetries: 5}, "
        + pages % 502
    )
    it = world(GIVEN + traffic("own", own) + traffic("gw", theirs, GATEWAY))
    found = forward(it)
    assert (found.timeout, found.idle_timeout) == (2.0, 7.0)
    assert found.retry is not None
    assert found.retry.attempts == 5
    assert repr(policies(it).error_pages).count("ErrorPage(") == 1


@pytest.mark.parametrize("type_", [STRATEGIC, JSON])
@pytest.mark.parametrize(
    ("theirs", "own"),
    [
        (
            "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP}}",
            "loadBalancer: {type: LeastRequest}",
        ),
        (
            "loadBalancer: {type: ConsistentHash,"
            " consistentHash: {type: Cookie, cookie: {name: a, ttl: 1h}}}",
            "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP}}",
        ),
        (
            "healthCheck: {active: {type: HTTP, http: {path: /}}}",
            "healthCheck: {active: {type: TCP, tcp: {send: {type: Text, text: a}}}}",
        ),
        (
            "healthCheck: {active: {type: TCP, tcp: {send: {type: Binary, binary: AAE=}}}}",
            "healthCheck: {active: {type: TCP, tcp: {send: {type: Text, text: a}}}}",
        ),
    ],
)
def test_another_type_drops_the_field_of_the_former_one(type_: str, theirs: str, own: str) -> None:
    alone = world(GIVEN + traffic("own", own))
    it = world(GIVEN + traffic("own", f"{type_}, {own}") + traffic("gw", theirs, GATEWAY))
    assert forward(it) == forward(alone)
    assert told(it, "own", "Accepted", "BackendTrafficPolicy")["gw"].endswith("policy applies")


def test_what_the_api_server_fills_in_is_said() -> None:
    it = world(
        GIVEN
        + traffic("own", f"{JSON}, retry: {{retryOn: {{triggers: [reset]}}}}")
        + traffic("gw", "retry: {numRetries: 5}", GATEWAY)
    )
    found = forward(it).retry
    assert found is not None
    assert found.attempts == 2


def test_texts_for_a_server_are_merged_by_name_where_that_is_asked_for() -> None:
    def auth(*texts: str) -> str:
        listed = ", ".join(f"{{name: {it[0]}, type: Value, value: {it}}}" for it in texts)
        return f"extAuth: {{grpc: {{backendRefs: [{_S1}]}}, contextExtensions: [{listed}]}}"

    def context(type_: str) -> tuple[tuple[str, str], ...]:
        own, theirs = f"{type_}, {auth('a1', 'b1')}", auth("b2", "c2")
        it = world(GIVEN + policy("own", own) + policy("gw", theirs, GATEWAY))
        found = policies(it).authorization
        assert isinstance(found, nodes.Authorization)
        return found.context

    assert context(STRATEGIC) == (("a", "a1"), ("b", "b1"), ("c", "c2"))
    assert context(JSON) == (("a", "a1"), ("b", "b1"))


_S1 = "{name: s1, port: 80}"


@pytest.mark.parametrize("type_", [STRATEGIC, JSON])
def test_the_default_action_is_that_of_the_policy_with_the_rules(type_: str) -> None:
    it = world(
        GIVEN
        + policy("own", f"{type_}, {allowing('own')}")
        + policy("gw", "authorization: {defaultAction: Allow}", GATEWAY)
    )
    found = policies(it).access
    assert isinstance(found, nodes.Access)
    assert found.default == "DENY"
    apply(it, policy("own", f"{type_}, {CORS}"))
    found = policies(it).access
    assert isinstance(found, nodes.Access)
    assert found.default == "ALLOW"


TWO = (
    configured("PerGateway")
    + gateway_class()
    + gateway("gw", created="01")
    + gateway("gv", created="02")
    + service("s1")
)


def test_a_route_of_two_gateways_is_merged_with_each() -> None:
    other = GATEWAY.replace("gw", "gv")
    it = world(
        TWO
        + route("r", parents="{name: gw}, {name: gv}")
        + policy("own", f"{STRATEGIC}, {CORS}")
        + policy("gw", allowing("gw"), GATEWAY)
        + policy("gv", "csrf: {}", other)
    )
    assert isinstance(policies(it, "default/gw").access, nodes.Access)
    assert policies(it, "default/gw").csrf is None
    assert isinstance(policies(it, "default/gv").csrf, nodes.Csrf)
    assert policies(it, "default/gv").access is None
    assert told(it, "own", "Merged") == {
        "gw": "True Merged: merged with default/gw",
        "gv": "True Merged: merged with default/gv",
    }
    apply(it, policy("gv", UNSERVED, other))
    assert (status(it, "default/gv"), policies(it, "default/gw").cors is not None) == (500, True)
    assert told(it, "own", "Accepted")["gw"].startswith("True")
    assert told(it, "own", "Accepted")["gv"].startswith("False Invalid: spec.authorization")


def test_the_policy_of_a_rule_is_merged_with_that_of_the_listener_not_of_the_route() -> None:
    it = world(
        GIVEN.replace(route("r"), "")
        + route("r", to("s1", "name: one"))
        + policy("rule", f"{STRATEGIC}, {CORS}", part(ROUTE, "one"))
        + policy("route", "csrf: {}")
        + policy("gw", allowing("gw"), GATEWAY)
        + policy("lis", allowing("lis"), part(GATEWAY, "http"))
    )
    found = policies(it)
    assert found.csrf is None
    assert found.cors is not None
    assert "lis" in repr(found.access)
    assert told(it, "rule", "Merged") == {"gw": "True Merged: merged with default/lis"}


OTHERS = "other"
_USERS = """
---
apiVersion: v1
kind: Secret
metadata: {name: users, namespace: %s}
stringData: {.htpasswd: "%s:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="}
"""


def _elsewhere() -> str:
    """A Gateway in another namespace, with a policy there that names a Secret and a Service."""
    spec = f"basicAuth: {{users: {{name: users}}}}, extAuth: {{grpc: {{backendRefs: [{_S1}]}}}}"
    wide = gateway("gw", http("http", "allowedRoutes: {namespaces: {from: All}}"))
    there = "namespace: default, ", f"namespace: {OTHERS}, "
    moved = wide.replace("namespace: default", f"namespace: {OTHERS}")
    return (
        gateway_class()
        + moved
        + route("r", parents=f"{{name: gw, namespace: {OTHERS}}}")
        + service("s1")
        + service("s1", OTHERS)
        + guards.policy("gw", spec, GATEWAY, namespace=OTHERS).replace(*there)
    )


def test_each_policy_refers_to_objects_of_its_own_namespace() -> None:
    it = world(_elsewhere() + _USERS % (OTHERS, "theirs") + policy("own", f"{STRATEGIC}, {CORS}"))
    found = policies(it)
    assert isinstance(found.authentication, nodes.Authentication)
    assert found.authentication.source == ObjectRef("SecurityPolicy", OTHERS, "gw")
    assert isinstance(found.authorization, nodes.Authorization)
    assert f"namespace='{OTHERS}'" in repr(found.authorization.cluster)
    own = "basicAuth: {users: {name: users}}"
    apply(it, policy("own", f"{STRATEGIC}, {own}"))
    assert status(it) == 500
    assert "Secret default/users not found" in told(it, "own", "Accepted")["gw"]
    apply(it, _USERS % ("default", "mine"))
    found = policies(it)
    assert isinstance(found.authentication, nodes.Authentication)
    known = it.answer(securitycredentials.reading, found.authentication.source.key)
    assert isinstance(known, securitycredentials.Reading)
    assert isinstance(known.known, nodes.Known)
    assert known.known.passwords is not None
    assert "mine" in dict(known.known.passwords.users)
    assert isinstance(found.authorization, nodes.Authorization)
    assert f"namespace='{OTHERS}'" in repr(found.authorization.cluster)


def test_what_only_one_policy_may_read_is_not_read_for_the_other() -> None:
    """A reference of which the route's policy says a part is one of that policy."""
    far = _elsewhere().replace("{name: users}", "{name: users, namespace: far}")
    may = grant(
        "g",
        "far",
        f"group: gateway.envoyproxy.io, kind: SecurityPolicy, namespace: {OTHERS}",
        "group: '', kind: Secret",
    ).replace("namespace: default", "namespace: far", 0)
    it = world(far + may + _USERS % ("far", "theirs") + policy("own", f"{STRATEGIC}, {CORS}"))
    assert policies(it).authentication is not None
    apply(it, policy("own", f"{STRATEGIC}, basicAuth: {{users: {{name: users}}}}"))
    assert status(it) == 500
    assert "no ReferenceGrant in namespace far" in told(it, "own", "Accepted")["gw"]


BAD = {
    "a field that is not served": (UNSERVED, "spec.authorization.rules[0].cel: is not served yet"),
    "a Secret that is not there": ("basicAuth: {users: {name: x}}", "Secret default/x not found"),
    "a policy that cannot be read": ("cors: {maxAge: 7}", "default/gw, with which it is merged"),
    "two servers": (
        f"extAuth: {{http: {{backendRefs: [{_S1}]}}}}",
        "spec.extAuth: merged with SecurityPolicy default/gw, only one of grpc or http",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("type_", [STRATEGIC, JSON])
def test_what_cannot_be_merged_closes_the_routes(name: str, type_: str) -> None:
    theirs, words = BAD[name]
    own = f"{type_}, extAuth: {{grpc: {{backendRefs: [{_S1}]}}}}"
    it = world(GIVEN + policy("own", own) + policy("gw", theirs, GATEWAY))
    assert status(it) == 500
    assert words in told(it, "own", "Accepted")["gw"]
    assert told(it, "own", "Accepted")["gw"].startswith("False Invalid")
    assert told(it, "own", "Merged") == {}
    delete(it, "SecurityPolicy", "gw")
    assert policies(it).authorization is not None


def test_a_field_of_a_later_release_in_the_other_policy_closes_the_routes() -> None:
    own, theirs = f"{STRATEGIC}, {CORS}", allowing("gw")
    it = world(GIVEN + policy("own", own) + policy("gw", theirs, GATEWAY))
    it.write(tables.UNKNOWN_FIELDS, ObjectRef("SecurityPolicy", "default", "gw"), ("spec.newer",))
    it.settle()
    assert status(it) == 500
    words = "has a field that is not known here"
    assert words in told(it, "own", "Accepted")["gw"]
    assert "of SecurityPolicy default/gw" in told(it, "own", "Accepted")["gw"]


def test_a_fault_of_the_listeners_policy_that_the_routes_replaces_is_none() -> None:
    own = f"{STRATEGIC}, basicAuth: {{users: {{name: users}}}}"
    it = world(
        GIVEN
        + _USERS % ("default", "me")
        + policy("own", own)
        + policy("gw", "basicAuth: {users: {name: gone}}", GATEWAY)
    )
    assert policies(it).authentication is not None
    assert told(it, "own", "Accepted")["gw"].startswith("True")


def test_for_a_gateway_the_merge_type_has_no_effect_and_is_told() -> None:
    it = world(GIVEN + policy("gw", f"{STRATEGIC}, {allowing('gw')}", GATEWAY))
    assert policies(it).access is not None
    words = "spec.mergeType: has no effect on Gateway default/gw"
    assert words in told(it, "gw", "Accepted")["gw"]


@pytest.mark.parametrize("kind", ["SecurityPolicy", "BackendTrafficPolicy"])
def test_a_merge_type_that_is_none_closes_the_routes(kind: str) -> None:
    it = world(GIVEN + policy("own", "mergeType: Replace", kind=kind))
    assert status(it) == 500


def test_the_global_limits_of_both_policies_are_kept_in_a_strategic_merge() -> None:
    def limits(requests: int) -> str:
        rule = f"{{limit: {{requests: {requests}, unit: Hour}}}}"
        return f"rateLimit: {{type: Global, global: {{rules: [{rule}]}}}}"

    it = world(
        GIVEN + traffic("own", f"{STRATEGIC}, {limits(1)}") + traffic("gw", limits(2), GATEWAY)
    )
    merged = it.answer(trafficpolicies_.MERGING.written, joined(key("own"), key("gw")))
    assert merged is not None
    assert re.findall(r"requests=(\d+)", repr(merged.spec)) == ["1", "2"]
    at = merged.own.at("rateLimit").at("global")
    assert [at.at("rules", it).subject.name for it in (0, 1)] == ["own", "gw"]


def test_a_stream_has_what_both_policies_say() -> None:
    tcp = gateway("gw", listener("tcp", 9000, "TCP"))
    own = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
    it = world(
        gateway_class()
        + tcp
        + service("s1")
        + stream_route("TCPRoute", "t", _S1)
        + traffic("own", f"{JSON}, tcpKeepalive: {{probes: 3}}", own)
        + traffic("gw", "timeout: {tcp: {connectTimeout: 4s}}", GATEWAY)
    )
    (found,) = _clusters(it)
    assert found is not None
    assert found.connect_timeout == 4.0
    assert found.connections is not None
    apply(it, traffic("gw", "bandwidthLimit: {}", GATEWAY))
    assert _clusters(it) == [None]


def _clusters(engine: Engine) -> list[nodes.Cluster | None]:
    return guards._stream(engine)


def test_an_edit_of_one_policy_leaves_routes_that_are_merged_with_others_alone() -> None:
    it = world(
        TWO
        + route("r", parents="{name: gw}, {name: gv}")
        + policy("own", f"{STRATEGIC}, {CORS}")
        + policy("gw", allowing("gw"), GATEWAY)
        + policy("gv", "csrf: {}", GATEWAY.replace("gw", "gv"))
    )
    before = served(it, "default/gv")
    apply(it, policy("gw", allowing("new"), GATEWAY))
    assert served(it, "default/gv") is before


def test_a_request_is_explained_by_both_policies_and_the_one_that_guards() -> None:
    it = world(
        GIVEN
        + traffic("slow", f"{JSON}, retry: {{}}")
        + policy("gw", allowing("gw"), GATEWAY)
        + traffic("whole", "retry: {}", GATEWAY)
    )
    found = evaluator.evaluate(it, FLEET, Request("a.com"))
    seen = [(step.subject.name, step.text) for step in found.steps if step.subject is not None]
    named = [name for name, words in seen if words.endswith("applies to the route")]
    assert named == ["slow", "gw", "whole"]
    denied = [name for name, words in seen if words == found.answer.cause]
    assert (found.answer.status, denied) == (403, ["gw"])
