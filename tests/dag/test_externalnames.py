"""Services of type ExternalName: for what TLS asks them, by which API they are reached."""

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from tests.dag.httpproxy import manifests as proxies
from tests.dag.httpproxy import served
from tests.dag.ingress import manifests as ingresses
from tests.dag.world import world

_RULE = ingresses.rule("a.com", ingresses.path("/", "s1"))
_USERS = {
    "HTTPProxy": proxies.root("app", f"routes: [{proxies.to('s1')}]"),
    "Ingress": ingresses.ingress("app", f"rules: [{_RULE}]"),
}


def _cluster(engine: Engine) -> nodes.Cluster:
    (route,) = served.virtual_host(engine).routes
    assert isinstance(route.action, nodes.Forward)
    (backend,) = route.action.backends
    assert backend.cluster is not None
    return backend.cluster


@pytest.mark.parametrize("kind", _USERS)
@pytest.mark.parametrize(
    ("name", "spoken", "protocol", "asked"),
    [
        ("Ext.Example.com.", "https", "tls", "ext.example.com"),
        ("192.0.2.1", "https", "tls", ""),
        ("ext.example.com", "", "http/1.1", ""),
    ],
)
def test_tls_asks_for_the_external_name(
    kind: str, name: str, spoken: str, protocol: str, asked: str
) -> None:
    external = f"""
---
apiVersion: v1
kind: Service
metadata: {{name: s1}}
spec: {{type: ExternalName, externalName: {name}, ports: [{{port: 80, appProtocol: "{spoken}"}}]}}
"""
    allowed = ingresses.configuration("enableExternalNameService: true")
    found = _cluster(world(allowed + external + _USERS[kind]))
    assert found.protocol == protocol
    assert (found.tls.sni if found.tls is not None else "") == asked
