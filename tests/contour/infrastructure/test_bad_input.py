"""Bad input that must not become pods: each row as a document, in both kinds that say how a fleet
starts and runs. What is told has the path of the field."""

import json

import pytest
import yaml

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds.decode import Decoded, decode
from dag import fleets
from provisioning.keeping.ownership import Owner
from tests.dag import world
from tests.dag.envoyproxy.proxies import deployment, proxy
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, with_field

CLASS = with_field(
    gateway_class(),
    "parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: proxy}",
)
OWN = gateway(
    "gw",
    rest="infrastructure: {parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, "
    "name: own}}",
)
PUBLISHED = "networkPublishing: {type: ClusterIPService}"
LISTENER = {"name": "own", "address": {"socket_address": {"address": "::", "port_value": 8080}}}
ALIASES = "a: &a [x, x, x, x]\n" + "".join(
    f"{n}: &{n} [*{m}, *{m}, *{m}, *{m}]\n" for m, n in zip("abcdefgh", "bcdefghi", strict=True)
)

BOOTSTRAPS = [
    (
        {"type": "JSONPatch", "jsonPatches": [{"op": "remove", "path": "/admin"}]},
        "admin.address must not be removed: without it nobody can drain Envoy",
    ),
    (
        {
            "type": "JSONPatch",
            "jsonPatches": [
                {"op": "add", "path": "/static_resources/listeners/-", "value": LISTENER}
            ],
        },
        "static_resources.listeners[1].address TCP port 8080 is used by port http",
    ),
    ({"value": f"header_prefix: {'x' * (1 << 20)}"}, "must have at most 524288 characters"),
    ({"value": ALIASES}, "aliases expand to more than 50000 values"),
    ({"value": "a: *b"}, "an alias refers to no complete anchor"),
]


@pytest.mark.parametrize(("bootstrap", "told"), BOOTSTRAPS)
def test_a_bootstrap_of_a_configuration(bootstrap: object, told: str) -> None:
    text = configuration(f"envoy: {{{PUBLISHED}, bootstrap: {json.dumps(bootstrap)}}}")
    assert told in _refusal(text, "contour")


@pytest.mark.parametrize(("bootstrap", "told"), BOOTSTRAPS)
def test_a_bootstrap_of_an_envoyproxy(bootstrap: object, told: str) -> None:
    settings = configuration(f"gateway: {{mode: PerGateway}}, envoy: {{{PUBLISHED}}}")
    written = proxy(f"bootstrap: {json.dumps(bootstrap)}", "projectcontour/proxy")
    assert told in _refusal(f"{settings}{CLASS}{gateway('gw')}{written}", "default/gw")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            "provider: {type: Kubernetes, kubernetes: {}, host: {}}",
            "spec.provider.host: is only for type Host",
        ),
        (
            deployment("container: {securityContext: {privileged: true}}"),
            "envoyDeployment.container.securityContext.privileged: must be false",
        ),
    ],
    ids=["a provider of two types", "a tenant's privileged container"],
)
def test_an_envoyproxy_of_a_tenant(spec: str, told: str) -> None:
    settings = configuration(f"gateway: {{mode: PerGateway}}, envoy: {{{PUBLISHED}}}")
    it = world.world(f"{settings}{gateway_class()}{OWN}{proxy(spec, 'own')}")
    found = it.answer(fleets.fleet, "default/gw")
    assert found is not None
    assert not found.is_managed
    assert status_text.gateway(it)[0] == "Accepted=False/InvalidParameters"
    assert told in status_text.gateway_messages(it)[0]


def _refusal(text: str, fleet: str) -> str:
    """Why no pods are made of these manifests."""
    found = [decode(it) for it in yaml.load_all(text, yaml.CSafeLoader) if it]
    refused = [it for it in found if isinstance(it, Decoded) and it.object is None]
    if refused:
        return "; ".join(map(str, refused[0].errors))
    it = world.world(text)
    told = status_text.class_messages(it, "contour") if "EnvoyProxy" in text else []
    wanted = it.answer(fleets.fleet, fleet)
    assert wanted is not None
    refusal = desired.bootstrap_refusal(Release(Owner("projectcontour", "contour")), wanted, fleet)
    return "; ".join([refusal, *told])
