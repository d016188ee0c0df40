"""Rules some of whose matches make no sense: what takes their requests, and who is told."""

import pytest

from dag.engine.incremental import Engine
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import on, route, to
from tests.dag.gateway.test_securitypolicies import GATEWAY, GIVEN, ROUTE, allowing, part, policy
from tests.dag.world import apply, routes, world

BAD = "{path: {type: RegularExpression, value: '/adm(in'}}"
UNKNOWN = "{path: {type: Glob, value: '/adm*'}}"
CLOSED = ["/admin/... -> 500", "/ -> default/s2:80"]
DROPPED = ["/ -> default/s2:80"]
DENY = "authorization: {defaultAction: Deny}"
LIMIT = "rateLimit: {local: {rules: [{limit: {requests: 1, unit: Second}}]}}"
RULE = part(ROUTE, "admin")


def traffic(spec: str, target: str) -> str:
    return policy("p", spec, target).replace("SecurityPolicy", "BackendTrafficPolicy")


def admin(rest: str = "", match: str = BAD) -> str:
    """A rule for a path, and for something that makes no sense."""
    return to("s1", f"name: admin, matches: [{{path: {{value: /admin}}}}, {match}]{rest}")


def given(more: str = "", rest: str = "", match: str = BAD) -> Engine:
    """That rule beside one that takes everything."""
    return world(GIVEN + route("r", admin(rest, match), to("s2", "name: rest")) + more)


def filtered(filter_: str) -> str:
    return f", filters: [{filter_}]"


@pytest.mark.parametrize("match", [BAD, UNKNOWN])
@pytest.mark.parametrize(
    ("more", "rest"),
    [
        (policy("p", DENY, RULE), ""),
        (policy("p", DENY), ""),
        (policy("p", f"mergeType: StrategicMerge, {DENY}"), ""),
        (traffic(LIMIT, RULE), ""),
        (traffic("mergeType: StrategicMerge", ROUTE), ""),
        (policy("p", DENY, GATEWAY), ""),
        (traffic(LIMIT, GATEWAY), ""),
        ("", filtered("{type: CORS, cors: {allowOrigins: ['https://a.com']}}")),
        (
            "",
            filtered(
                "{type: ExternalAuth, "
                "externalAuth: {protocol: HTTP, http: {}, backendRef: {name: s2, port: 80}}}"
            ),
        ),
        ("", filtered("{type: ExtensionRef, extensionRef: {group: a.com, kind: B, name: c}}")),
        ("", filtered("{type: Cache}")),
    ],
)
def test_a_guarded_rule_keeps_the_matches_that_make_sense(more: str, rest: str, match: str) -> None:
    it = given(more, rest, match)
    assert routes(it, "*") == CLOSED
    assert status_text.route(it, "r")[2] == "PartiallyInvalid=True/UnsupportedValue"


@pytest.mark.parametrize(
    "more",
    [
        "",
        policy("p", DENY, part(ROUTE, "rest")),
        traffic("timeout: {http: {requestTimeout: 1s}}", RULE),
        traffic("timeout: {http: {requestTimeout: 1s}}", GATEWAY),
    ],
)
def test_a_rule_that_nothing_guards_is_dropped(more: str) -> None:
    assert routes(given(more), "*") == DROPPED


def test_a_rule_that_its_gateway_guards_is_closed_for_wider_ones_may_have_other_guards() -> None:
    policies = policy("p", DENY, GATEWAY) + policy("q", allowing("q"), part(ROUTE, "rest"))
    assert routes(given(policies), "*") == CLOSED


def test_a_rule_of_a_grpcroute_answers_unavailable() -> None:
    bad = "{method: {type: RegularExpression, service: '('}}"
    rule = to("s1", f"matches: [{{method: {{service: a}}}}, {bad}]")
    target = ROUTE.replace("HTTPRoute", "GRPCRoute")
    text = GIVEN + route("r", rule, to("s2")).replace("HTTPRoute", "GRPCRoute")
    assert routes(world(text), "*") == ["/ -> default/s2:80"]
    assert routes(world(text + policy("p", DENY, target)), "*") == [
        "/a/... -> 503",
        "/ -> default/s2:80",
    ]


def test_without_a_match_that_makes_sense_nothing_is_left_to_be_kept() -> None:
    it = world(GIVEN + route("r", to("s1", f"matches: [{BAD}]"), to("s2")) + policy("p", DENY))
    assert routes(it, "*") == DROPPED


NOT_SERVED = "spec.rules[0] of HTTPRoute default/r is not served as it is written"


@pytest.mark.parametrize(
    ("kind", "spec"), [("SecurityPolicy", DENY), ("BackendTrafficPolicy", LIMIT)]
)
@pytest.mark.parametrize(
    ("target", "accepted"),
    [(RULE, "Accepted=False/TargetNotFound"), (ROUTE, "Accepted=True/TargetNotFound")],
)
def test_a_policy_is_told_of_rules_on_which_it_has_no_effect(
    kind: str, spec: str, target: str, accepted: str
) -> None:
    more = policy("p", spec, target).replace("SecurityPolicy", kind)
    it = given(more)
    assert status_text.policy(it, "p", kind)[0] == accepted
    assert NOT_SERVED in status_text.policy_messages(it, "p", kind)[0]
    apply(it, route("r", on("/", "s1", "name: admin")))
    assert status_text.policy(it, "p", kind)[0] == "Accepted"


def test_a_policy_is_told_of_a_rule_that_a_filter_closes() -> None:
    rule = to("s1", "name: admin, filters: [{type: Cache}]")
    it = world(GIVEN + route("r", rule, to("s2")) + policy("p", DENY, RULE))
    assert status_text.policy(it, "p", "SecurityPolicy") == ["Accepted=False/TargetNotFound"]


def test_a_policy_for_a_sound_rule_too_is_accepted() -> None:
    both = (RULE, part(ROUTE, "rest"))
    it = given(policy("p", DENY, *both))
    assert status_text.policy(it, "p", "SecurityPolicy") == ["Accepted=True/TargetNotFound"]
