"""XBackendTrafficPolicies: what a backend gets, and what their owners are told."""

import pytest

from crds.decode import decode
from crds.meta import ObjectRef
from dag import listeners, nodes
from dag.engine.incremental import Engine
from dag.evaluation import actions
from dag.gateway import statusoverflow
from tests.crds import documents
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    backend,
    configuration,
    gateway,
    gateway_class,
    listener,
    route,
    service,
    stream_route,
    to,
    xbackend,
    xbackend_traffic_policy,
)
from tests.dag.gateway.test_httproute import first, forward
from tests.dag.world import FLEET, apply, delete, key, world

KIND = "XBackendTrafficPolicy"
TWO = service("s1") + service("s2")
GIVEN = gateway_class() + gateway("gw") + TWO + route("r", to("s1"))
BUDGET = "retryConstraint: {budget: {percent: 10, interval: 5s}}"
MANAGED = configuration("gateway: {mode: PerGateway}")
COOKIE = "sessionPersistence: {cookie: {}}"
S1, S2 = ObjectRef("Service", "default", "s1"), ObjectRef("Service", "default", "s2")


def policed(spec: str, targets: tuple[str, ...] = ("s1",), name: str = "p", at: str = "") -> str:
    return xbackend_traffic_policy(name, spec, targets, at)


def budget(it: Engine, share: int = 0) -> nodes.RetryBudget | None:
    found = forward(it).backends[share].cluster
    assert found is not None
    return found.retry_budget


def session(it: Engine, share: int = 0) -> nodes.SessionPersistence | None:
    return forward(it).backends[share].session


def told(it: Engine, name: str = "p") -> list[str]:
    return status_text.policy(it, name, KIND)


def message(it: Engine, name: str = "p") -> str:
    return " ".join(status_text.policy_messages(it, name, KIND))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("{}", nodes.RetryBudget(20.0, 10.0, 10)),
        ("{budget: {percent: 0}}", nodes.RetryBudget(0.0, 10.0, 10)),
        ("{budget: {percent: 100, interval: 1h}}", nodes.RetryBudget(100.0, 3600.0, 10)),
        ("{budget: {interval: 1s500ms}}", nodes.RetryBudget(20.0, 1.5, 10)),
        ("{minRetryRate: {count: 1, interval: 1h}}", nodes.RetryBudget(20.0, 10.0, 1)),
        ("{minRetryRate: {count: 7, interval: 2s}}", nodes.RetryBudget(20.0, 10.0, 4)),
        ("{minRetryRate: {count: 3}}", nodes.RetryBudget(20.0, 10.0, 3)),
        ("{minRetryRate: {interval: 5s}}", nodes.RetryBudget(20.0, 10.0, 2)),
        ("{minRetryRate: {}}", nodes.RetryBudget(20.0, 10.0, 10)),
        (
            "{minRetryRate: {count: 1000000, interval: 1ms}}",
            nodes.RetryBudget(20.0, 10.0, 1_000_000_000),
        ),
    ],
)
def test_a_budget_becomes_one_of_envoy(asked: str, expected: nodes.RetryBudget) -> None:
    it = world(GIVEN + policed(f"retryConstraint: {asked}"))
    assert budget(it) == expected
    assert told(it) == ["Accepted"]
    assert f"spec.retryConstraint.minRetryRate: {expected.always} retries" in message(it)
    assert "spec.retryConstraint.budget: retries count only while" in message(it)


@pytest.mark.parametrize(
    "asked",
    [
        {"budget": {"percent": 101}},
        {"budget": {"percent": -1}},
        {"budget": {"percent": 1.5}},
        {"budget": {"interval": "999ms"}},
        {"budget": {"interval": "1h1ms"}},
        {"budget": {"interval": "soon"}},
        {"minRetryRate": {"count": 0}},
        {"minRetryRate": {"count": 1_000_001}},
        {"minRetryRate": {"interval": "0s"}},
        {"minRetryRate": {"interval": "61m"}},
        {"minRetryRate": {"interval": "-1s"}},
    ],
    ids=str,
)
def test_what_the_crd_refuses_is_refused(asked: dict[str, object]) -> None:
    found = decode(documents.xbackendtrafficpolicy(retryConstraint=asked))
    assert getattr(found, "errors", ())


def test_two_budgets_are_both_kept() -> None:
    theirs = "retryBudget: {percent: {numerator: 5}, minRetryConcurrency: 50}"
    other = (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, metadata:"
        " {name: t, namespace: default}, spec: {targetRefs: [{group: gateway.networking.k8s.io,"
        f" kind: HTTPRoute, name: r}}], circuitBreaker: {{maxConnections: 7, {theirs}}}}}}}\n"
    )
    it = world(GIVEN + other)
    assert budget(it) == nodes.RetryBudget(5.0, None, 50)
    apply(it, policed(BUDGET))
    assert budget(it) == nodes.RetryBudget(5.0, None, 10)
    found = forward(it).backends[0].cluster
    assert found is not None
    assert found.limits is not None
    assert found.limits.connections == 7
    delete(it, "BackendTrafficPolicy", "t")
    assert budget(it) == nodes.RetryBudget(10.0, 5.0, 10)


def test_every_route_and_copy_to_the_service_has_it_and_no_other() -> None:
    filters = "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s2, port: 80}}}]"
    it = world(GIVEN + policed(BUDGET, ("s2",)) + route("r", to("s1", filters)))
    assert budget(it) is None
    (mirror,) = forward(it).mirrors
    assert mirror.cluster.retry_budget == nodes.RetryBudget(10.0, 5.0, 10)
    apply(it, route("r", to("s2")).replace("HTTPRoute", "GRPCRoute"))
    delete(it, "HTTPRoute", "r")
    assert budget(it) == nodes.RetryBudget(10.0, 5.0, 10)


def test_streams_have_neither() -> None:
    it = world(
        gateway_class()
        + gateway("gw", listener("tcp", 9000, "TCP"))
        + TWO
        + stream_route("TCPRoute", "r", "{name: s1, port: 80}")
        + policed(f"{BUDGET}, {COOKIE}")
    )
    found = it.answer(listeners.listener, nodes.ListenerKey(FLEET, "tcp-9000"))
    assert found is not None
    assert found.stream is not None
    cluster = found.stream.shares[0].cluster
    assert cluster is not None
    assert cluster.retry_budget is None


FAR = "type: ExternalHostname, externalHostname: {hostname: a.com}, port: {number: 80}"
OF_X = "group: gateway.networking.x-k8s.io, kind: XBackend, name: far"
OF_ENVOY = "group: gateway.envoyproxy.io, kind: Backend, name: there"


@pytest.mark.parametrize("target", [OF_X, OF_ENVOY])
def test_other_backends_have_it_too(target: str) -> None:
    known = backend("there", "endpoints: [{ip: {address: 10.0.0.1, port: 80}}]")
    known += xbackend("far", FAR) + configuration("enableExternalNameService: true")
    it = world(GIVEN + known + route("r", f"{{backendRefs: [{{{target}}}]}}"))
    assert budget(it) is None
    apply(it, policed(f"{BUDGET}, {COOKIE}", (f"{{{target}}}",)))
    assert budget(it) == nodes.RetryBudget(10.0, 5.0, 10)
    assert session(it) is not None
    assert told(it) == ["Accepted"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("{cookie: {}}", nodes.SessionPersistence("session-service-default-s1")),
        ("{cookie: {name: a, path: /p}}", nodes.SessionPersistence("a", path="/p")),
        (
            "{absoluteTimeout: 1h, cookie: {lifetimeType: Permanent}}",
            nodes.SessionPersistence("session-service-default-s1", lifetime=3600.0),
        ),
        ("{type: Header, header: {name: x}}", nodes.SessionPersistence("x", "Header")),
        ("{sessionName: old}", nodes.SessionPersistence("old")),
        (
            "{type: Header}",
            nodes.SessionPersistence("x-session-service-default-s1", "Header"),
        ),
    ],
)
def test_a_session_is_kept_as_it_says(asked: str, expected: nodes.SessionPersistence) -> None:
    it = world(GIVEN + policed(f"sessionPersistence: {asked}"))
    assert session(it) == expected
    assert told(it) == ["Accepted"]
    assert message(it) == "the policy holds"
    delete(it, KIND, "p")
    assert session(it) is None


def test_each_share_has_a_session_of_its_own() -> None:
    shares = "{backendRefs: [{name: s1, port: 80, weight: 9}, {name: s2, port: 80}]}"
    it = world(GIVEN + route("r", shares) + policed(COOKIE, ("s1", "s2")))
    names = [it.session.name for it in forward(it).backends if it.session]
    assert names == ["session-service-default-s1", "session-service-default-s2"]
    apply(it, policed(COOKIE, ("s2",)))
    assert session(it) is None
    assert session(it, 1) is not None


def test_who_asks_what_becomes_of_a_request_is_told_both() -> None:
    it = world(GIVEN + policed(f"{BUDGET}, {COOKIE}"))
    assert [*actions.noted(forward(it))] == [
        "retries: at once towards Service default/s1 at most 10% of its requests, or 10",
        "session persistence: within Service default/s1 by the cookie session-service-default-s1",
    ]


def test_backends_that_are_joined_for_failover_have_the_budget_of_the_first() -> None:
    """And the sessions of none."""
    spare = "endpoints: [{ip: {address: 10.0.0.1, port: 80}}], fallback: true"
    both = f"{{backendRefs: [{{name: s1, port: 80}}, {{{OF_ENVOY}}}]}}"
    it = world(GIVEN + backend("there", spare) + route("r", both) + policed(f"{BUDGET}, {COOKIE}"))
    (share,) = forward(it).backends
    assert share.cluster is not None
    assert len(share.cluster.members) == 2
    assert budget(it) == nodes.RetryBudget(10.0, 5.0, 10)
    assert session(it) is None


def test_the_session_of_a_rule_counts_instead() -> None:
    own = "{backendRefs: [{name: s1, port: 80}], sessionPersistence: {cookie: {name: mine}}}"
    it = world(GIVEN + route("r", own) + policed(COOKIE))
    assert session(it) is None
    policies = first(it).policies
    assert policies is not None
    assert policies.session == nodes.SessionPersistence("mine")


@pytest.mark.parametrize(
    ("asked", "targets", "text"),
    [
        (
            "sessionPersistence: {absoluteTimeout: 1h, cookie: {}}",
            ("s1",),
            "spec.sessionPersistence.absoluteTimeout: has no effect",
        ),
        (
            "sessionPersistence: {absoluteTimeout: 1h, type: Header, header: {name: x}}",
            ("s1",),
            "spec.sessionPersistence.absoluteTimeout: has no effect",
        ),
        (
            "sessionPersistence: {cookie: {name: one}}",
            ("s1", "s2"),
            "one is one name for several backends",
        ),
        ("", ("s1",), "asks for nothing"),
    ],
)
def test_what_is_served_otherwise_is_told(asked: str, targets: tuple[str, ...], text: str) -> None:
    it = world(GIVEN + policed(asked, targets))
    assert told(it) == ["Accepted"]
    assert text in message(it)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ("sessionPersistence: {type: Odd}", "spec.sessionPersistence.type"),
        (
            "sessionPersistence: {cookie: {lifetimeType: Odd}}",
            "spec.sessionPersistence.cookie.lifetimeType",
        ),
        (
            "sessionPersistence: {cookie: {path: '/;Secure'}}",
            "spec.sessionPersistence.cookie.path",
        ),
        (
            'sessionPersistence: {sessionName: "a\\nb", type: Header}',
            "spec.sessionPersistence.sessionName",
        ),
    ],
)
def test_a_policy_that_makes_no_sense_holds_in_no_part(asked: str, field: str) -> None:
    it = world(GIVEN + policed(f"{BUDGET}, {asked}"))
    assert told(it) == ["Accepted=False/Invalid"]
    assert message(it).startswith(field)
    assert budget(it) is None
    assert session(it) is None


def test_the_younger_of_two_is_told_and_promoted() -> None:
    other = BUDGET.replace("10", "50")
    it = world(GIVEN + policed(BUDGET, at="01") + policed(other, name="q", at="02"))
    assert budget(it) == nodes.RetryBudget(10.0, 5.0, 10)
    assert told(it) == ["Accepted"]
    assert told(it, "q") == ["Accepted=False/Conflicted"]
    assert "the older XBackendTrafficPolicy default/p applies to" in message(it, "q")
    delete(it, KIND, "p")
    assert budget(it) == nodes.RetryBudget(50.0, 5.0, 10)
    assert told(it, "q") == ["Accepted"]


def test_a_policy_that_has_lost_one_of_its_backends_holds_for_the_others() -> None:
    it = world(GIVEN + policed(BUDGET, at="01") + policed(COOKIE, ("s1", "s2"), "q", "02"))
    assert told(it, "q") == ["Accepted=True/Conflicted"]
    apply(it, route("r", to("s2")))
    assert session(it) is not None
    assert budget(it) is None


@pytest.mark.parametrize(
    "target",
    ["{group: '', kind: ServiceImport, name: s1}", "{group: x.io, kind: XBackend, name: a}"],
)
def test_a_target_of_another_kind_is_told(target: str) -> None:
    it = world(GIVEN + policed(BUDGET, (target,)))
    assert told(it) == []
    apply(it, policed(BUDGET, (target, "s1")))
    assert told(it) == ["Accepted=True/TargetNotFound"]
    assert "spec.targetRefs[0]: kind" in message(it)
    assert budget(it) is not None


def test_a_service_that_is_not_there_is_told_once_a_route_leads_to_it() -> None:
    it = world(GIVEN + policed(BUDGET, ("late",)))
    assert told(it) == []
    apply(it, route("r", to("late")))
    assert told(it) == ["Accepted=False/TargetNotFound"]
    assert "Service default/late not found" in message(it)
    apply(it, service("late"))
    assert told(it) == ["Accepted"]
    assert budget(it) is not None


def test_a_policy_holds_in_its_own_namespace_only() -> None:
    it = world(GIVEN + xbackend_traffic_policy("far/p", f"{BUDGET}, {COOKIE}"))
    assert budget(it) is None
    assert session(it) is None
    assert told(it, "far/p") == []


def test_it_is_told_in_the_name_of_each_gateway_that_leads_there() -> None:
    it = world(GIVEN + MANAGED + gateway("gw2") + policed(BUDGET))
    apply(it, route("r2", to("s1"), parents="{name: gw2}"))
    assert _ancestors(it) == ["gw", "gw2"]
    delete(it, "HTTPRoute", "r")
    assert _ancestors(it) == ["gw2"]
    delete(it, "HTTPRoute", "r2")
    assert _ancestors(it) == []


def _ancestors(it: Engine) -> list[str]:
    return status_text.ancestors(it, "p", KIND)


def test_a_gateway_says_for_whom_there_is_no_room() -> None:
    it = world(GIVEN + policed(BUDGET))
    it.write(statusoverflow.UNTOLD, ObjectRef(KIND, "default", "p"), (key("gw"),))
    it.settle()
    text = status_text.gateway_messages(it)[0]
    assert f"the status of {KIND} default/p is full" in text
    assert "is in force as far as it is valid" in text
    assert budget(it) is not None
