"""What one policy may cost: its targets and selectors are as many as its author likes."""

from time import process_time

import pytest
import yaml

from crds.decode import Decoded, decode
from dag import tables
from dag.engine.work import Work
from tests.dag.gateway.manifests import gateway, gateway_class, route, service
from tests.dag.world import apply, world

_GROUP = "group: gateway.networking.k8s.io"
_CORS = "cors: {allowOrigins: ['https://a.com']}"


def _policy(targets: str, namespace: str = "default", cors: str = _CORS) -> str:
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: SecurityPolicy, "
        f"metadata: {{name: p, namespace: {namespace}}}, spec: {{{targets}, {cors}}}}}\n"
    )


def _many(one: str, count: int) -> str:
    return ", ".join(f"{{{one.replace('#', str(n))}}}" for n in range(count))


_MISSING = f"targetRefs: [{_many(f'{_GROUP}, kind: HTTPRoute, name: x#', 4000)}]"
_SECTIONS = f"targetRefs: [{_many(f'{_GROUP}, kind: Gateway, name: gw, sectionName: x#', 4000)}]"
_EVERYWHERE = "kind: HTTPRoute, namespaces: {from: All}, matchLabels: {a: b, c#: d}"
_SELECTORS = f"targetSelectors: [{_many(_EVERYWHERE, 4000)}]"


@pytest.mark.parametrize(
    "policy",
    [_policy(_MISSING), _policy(_SECTIONS), _policy(_SELECTORS, "others")],
    ids=["targets that are missing", "sections that are missing", "selectors without a grant"],
)
def test_a_large_policy_takes_the_time_of_its_length(policy: str) -> None:
    routes = "".join(route(f"r{n}", hosts=(f"h{n}.com",)) for n in range(100))
    labelled = routes.replace("metadata: {name: r", "metadata: {labels: {a: b}, name: r")
    it = world(gateway_class() + gateway("gw") + service("s1") + labelled)
    found = decode(yaml.load(policy, yaml.CSafeLoader))
    assert isinstance(found, Decoded)
    began = process_time()
    it.write(tables.SECURITY_POLICIES, found.key, found.object)
    it.settle()
    assert process_time() - began < 1


def test_an_edit_of_a_policy_that_selects_without_a_grant_wakes_no_route() -> None:
    routes = "".join(route(f"r{n}", hosts=(f"h{n}.com",)) for n in range(30))
    everywhere = "targetSelectors: [{kind: HTTPRoute, namespaces: {from: All}}]"
    policies = (
        _policy(everywhere, "others", it) for it in (_CORS, _CORS.replace("a.com", "b.com"))
    )
    it = world(gateway_class() + gateway("gw") + service("s1") + routes + next(policies))
    it.work = Work()
    apply(it, next(policies))
    assert it.work.runs < 10
