"""What a rate limit service is told of filters and policies, and what an edit of one costs."""

import pytest
import yaml
from envoy.config.route.v3 import route_components_pb2
from google.protobuf.unknown_fields import UnknownFieldSet

from contour.envoy import limits, outputs
from contour.envoy.guards import ratelimits
from contour.ratelimits import limits as reading
from contour.ratelimits.messages import RateLimitConfig
from contour.xds import resources
from crds.decode import Decoded, decode
from crds.envoygateway.ratelimitfilter import RateLimitFilter
from crds.meta import NamespacedName, ObjectRef
from dag import hosts, nodes, ratelimitclient, tables
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.engine.work import Work
from dag.fleetnames import DEFAULT_FLEET
from dag.plan import PLAN
from tests.dag.gateway import manifests
from tests.dag.gateway.test_ratelimitfilters import limited, selecting
from tests.dag.gateway.test_ratelimitfilters import limits as document
from tests.dag.world import apply, delete

NAME = NamespacedName("default", "it")
FILTER = ObjectRef("RateLimitFilter", *NAME)
RULE = "{limit: {requests: %d, unit: Hour}}"
OTHER = selecting("{headers: [{name: x, type: Distinct}], sourceIP: 10.0.0.0/8}")


def made(routes: int) -> Engine:
    """Routes that name one filter of two rules, each on a host of its own."""
    engine = Engine(PLAN + outputs.PLAN)
    engine.write(tables.FLEETS, DEFAULT_FLEET, True)
    engine.write(ratelimitclient.SOCKET, (), "/run/limits")
    documents = (manifests.route(f"r{it}", limited("/"), hosts=(f"h{it}.com",))
                 for it in range(routes))  # fmt: skip
    given = manifests.gateway_class() + manifests.gateway("gw") + manifests.service("s1")
    apply(engine, given + document(RULE % 1, OTHER) + "".join(documents))
    return engine


def parts(changes: list[Change]) -> list[resources.Change]:
    return [it for found in changes for _, it in outputs.changes(found)]


def test_the_service_is_told_each_rule_once_for_all_routes_and_hosts() -> None:
    engine = made(3)
    found = engine.answer(limits.limits, limits.OwnerKey(ratelimitclient.FLEET, FILTER))
    assert found is not None
    body = b"".join(it.value.body for it in found if it.value is not None)
    first, second = RateLimitConfig.FromString(body).descriptors
    for it in (first, second):
        assert (it.key, it.value.rpartition("/")[0][:11]) == ("rule", "default/it/")
        (bucket,) = it.descriptors
        assert (bucket.key, bucket.value) == ("bucket", ""), "each value counts on its own"
    assert first.descriptors[0].rate_limit.requests_per_unit == 1
    (header,) = second.descriptors[0].descriptors
    (of_range,) = header.descriptors
    assert [(it.key, it.value) for it in (header, of_range)] == [
        ("header-0", ""),
        ("range-1", "10.0.0.0/8"),
    ]
    assert of_range.HasField("rate_limit")
    assert not header.HasField("rate_limit")


def test_the_service_can_read_as_many_conditions_as_a_limit_may_have() -> None:
    each = [f"{{name: x-{it}, type: Distinct}}" for it in range(ratelimitclient.MOST_CONDITIONS)]
    sixteen = (", ".join(each[it : it + 16]) for it in range(0, len(each), 16))
    engine = made(1)
    apply(engine, document(selecting(", ".join(f"{{headers: [{it}]}}" for it in sixteen))))
    found = engine.answer(limits.limits, limits.OwnerKey(ratelimitclient.FLEET, FILTER))
    assert found is not None
    body = b"".join(it.value.body for it in found if it.value is not None)
    head = RateLimitConfig(name="limits", domain=ratelimitclient.DOMAIN).SerializeToString()
    (level,) = reading.read([head + body])[ratelimitclient.DOMAIN].below.values()
    depth = 0
    while level.limit is None:
        (level,), depth = level.below.values(), depth + 1
    assert depth == 1 + ratelimitclient.MOST_CONDITIONS


def test_a_number_changes_one_entry_at_a_cost_that_routes_do_not_raise() -> None:
    costs = []
    for routes in (3, 60):
        engine = made(routes)
        edited = decode(yaml.load(document(RULE % 2, OTHER), yaml.CSafeLoader))
        assert isinstance(edited, Decoded)
        assert isinstance(edited.object, RateLimitFilter)
        engine.work = Work()
        engine.write(tables.RATE_LIMIT_FILTERS, NAME, edited.object)
        (changed,) = parts(engine.settle())
        assert changed.part.startswith("limit/default/it/")
        costs.append(engine.work)
    assert costs[0] == costs[1]
    assert costs[0].runs < 10


SHARED = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  rateLimit: {global: {rules: [{limit: {requests: %d, unit: Hour}, shadowMode: %s}]}}
"""


@pytest.mark.parametrize("shadow", ["false", "true"])
def test_a_number_of_a_policy_is_one_entry_however_many_routes_it_has(shadow: str) -> None:
    costs = []
    for routes in (3, 1000):
        engine = made(0)
        documents = (manifests.route(f"r{it}", hosts=(f"h{it}.com",)) for it in range(routes))
        apply(engine, SHARED % (1, "false") + "".join(documents))
        edited = decode(yaml.load(SHARED % (2, shadow), yaml.CSafeLoader))
        assert isinstance(edited, Decoded)
        engine.work = Work()
        engine.write(tables.TRAFFIC_POLICIES, NamespacedName("default", "p"), edited.object)
        (changed,) = parts(engine.settle())
        assert changed.part.startswith("limit/BackendTrafficPolicy/default/p/")
        costs.append(engine.work)
    assert costs[0] == costs[1]
    assert costs[0].runs < 10


@pytest.mark.parametrize("edit", ["edited", "removed"])
def test_what_else_a_filter_says_concerns_its_routes(edit: str) -> None:
    engine = made(3)
    if edit == "edited":
        apply(engine, document(RULE % 1, selecting("{sourceIP: 10.0.0.0/8}")))
    else:
        delete(engine, "RateLimitFilter", "it")
    found = [it for _, it in engine.answers(hosts.virtual_host) if it is not None]
    (entries, *rest) = {
        it.policies.limits[1].entries if it.policies and it.policies.limits else None
        for host in found
        for it in host.routes
    }
    assert not rest
    assert (entries is None) is (edit == "removed")
    left = list(engine.answers(limits.limits))
    assert len(left) == (edit == "edited")


def test_a_range_is_written_by_its_number_while_the_wheel_does_not_know_it() -> None:
    action = route_components_pb2.RateLimit.Action
    assert "remote_address_match" not in action.DESCRIPTOR.fields_by_name, "write it by its name"
    limit = nodes.Limit(FILTER, "0", (nodes.ClientRange("10.0.0.0/8"),))
    (found,) = ratelimits.limits((limit,), "bucket").rate_limits
    written = UnknownFieldSet(found.actions[2])
    assert [written[it].field_number for it in range(len(written))] == [13]
