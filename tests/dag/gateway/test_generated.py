"""Random objects over the whole model: no rule raises, and each change takes bounded time."""

from random import Random
from time import process_time

import pytest
import yaml

from contour.envoy import outputs
from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from dag.plan import PLAN
from tests.dag.gateway import generated
from tests.dag.gateway.manifests import configuration, gateway_class, service
from tests.dag.world import FLEET
from tests.testbed import pairs

PORTS = "name: a, port: 80}, {name: b, port: 443}, {name: u, port: 80, protocol: UDP"

CONTENTS = "".join(
    f"""
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: a, namespace: {it}}}
data: {{response.body: x}}
---
apiVersion: v1
kind: Secret
type: Opaque
metadata: {{name: {generated.CONTENT}, namespace: {it}}}
stringData: {{credential: Bearer x}}
"""
    for it in generated.NAMES
)


@pytest.fixture(scope="module", name="engine")
def _engine() -> Engine:
    """One for all objects, which makes each a change of the one before; up to Envoy's parts."""
    engine = Engine(PLAN + outputs.PLAN)
    engine.write(tables.FLEETS, FLEET, True)
    allowed = "enableBackend: true, gateway: {envoyPatchPolicies: {namespaces: [a, b]}}"
    given = gateway_class() + configuration(allowed) + CONTENTS
    for namespace in generated.NAMES:
        for name in generated.NAMES:
            given += service(name, namespace, PORTS) + pairs.secret(name, namespace)
    for raw in yaml.load_all(given, yaml.CSafeLoader):
        if raw is not None:
            assert taken(engine, raw)
    return engine


def taken(engine: Engine, document: generated.Document) -> bool:
    """Whether the object is one; no rule may fail on it."""
    found = decode(document)
    if not isinstance(found, Decoded) or found.object is None:
        return False
    engine.write(tables.BY_KIND[found.kind.kind], found.key, found.object)
    engine.settle()
    assert not engine.failures, (document, engine.failures)
    return True


@pytest.mark.parametrize("seed", range(6))
def test_no_rule_raises(engine: Engine, seed: int) -> None:
    chance, count = Random(seed), 0
    for _ in range(30):
        start = process_time()
        count += taken(engine, generated.document(chance))
        assert process_time() - start < 2
    assert count > 10
