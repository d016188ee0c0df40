"""What an EnvoyProxy is told of Envoys that are not as it says."""

import pytest

from dag import fleets
from dag.engine.incremental import Engine
from dag.fleets import FleetProblem
from tests.dag.envoyproxy.proxies import deployment, proxy
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.dag.gateway.test_proxyparameters import (
    HOME,
    class_naming,
    each,
    gateway_naming,
    own_status,
)
from tests.dag.world import apply

UNDONE = "the rollout was undone"
BOOTSTRAP = "bootstrap: {type: Merge, value: '{}'}"


def _told(engine: Engine, *problems: FleetProblem, fleet: str = "default/gw") -> None:
    engine.write(fleets.PROBLEMS, fleet, problems or None)
    engine.settle()


@pytest.mark.parametrize(
    ("spec", "problem", "path"),
    [
        (deployment("replicas: 2"), FleetProblem(UNDONE, concerns="workload"),
         "spec.provider.kubernetes"),
        (deployment("replicas: 2"), FleetProblem(UNDONE, concerns="publishing"),
         "spec.provider.kubernetes.envoyService"),
        ("networkPublishing: {type: ClusterIPService}", FleetProblem(UNDONE, concerns="publishing"),
         "spec.networkPublishing"),
        (BOOTSTRAP, FleetProblem(UNDONE, concerns="bootstrap"), "spec.bootstrap"),
        ("", FleetProblem(UNDONE, concerns="bootstrap"), ""),
        (deployment("replicas: 2"), FleetProblem("Envoys wait", concerns="all"), ""),
        (deployment("replicas: 2"), FleetProblem(UNDONE, is_error=False, concerns="workload"), ""),
    ],
)  # fmt: skip
def test_it_repeats_what_concerns_its_fields(spec: str, problem: FleetProblem, path: str) -> None:
    it = each(class_naming(), gateway("gw"), proxy(spec, HOME))
    used = {"GatewayClass contour": "True/Accepted: the EnvoyProxy is used"}
    _told(it, problem)
    if path:
        words = f"False/Invalid: {path}: Gateway default/gw: {UNDONE}"
        assert own_status(it, HOME) == {"GatewayClass contour": words}
    else:
        assert own_status(it, HOME) == used
    _told(it)
    assert own_status(it, HOME) == used


def test_each_who_names_it_tells_of_its_own_gateways() -> None:
    """Its class of all of them; another Gateway's trouble is none of a Gateway's own."""
    it = each(
        class_naming(), gateway_naming(), gateway("other"),
        proxy(deployment("replicas: 2"), HOME), proxy(deployment("replicas: 3"), "own"),
    )  # fmt: skip
    _told(it, FleetProblem(UNDONE, concerns="workload"), fleet="default/other")
    (told,) = own_status(it, HOME).values()
    assert "Gateway default/other: " in told
    assert own_status(it, "own") == {"Gateway gw": "True/Accepted: the EnvoyProxy is used"}
    _told(it, FleetProblem("not yet", concerns="workload"))
    (told,) = own_status(it, HOME).values()
    assert told.index("Gateway default/gw: not yet") < told.index("Gateway default/other: ")
    assert own_status(it, "own")["Gateway gw"].endswith("Gateway default/gw: not yet")
    _told(it, FleetProblem(UNDONE, concerns="workload"), fleet="contour")
    assert UNDONE not in own_status(it, "own")["Gateway gw"]


def test_the_gateway_says_where_the_bootstrap_is_written() -> None:
    it = each(class_naming(), gateway("gw"), proxy(BOOTSTRAP, HOME))
    _told(it, FleetProblem("node.id must stay", concerns="bootstrap"))
    written = f"EnvoyProxy {HOME}: spec.bootstrap: node.id must stay"
    assert status_text.gateway_messages(it)[2].endswith(written)
    apply(it, gateway_class())
    assert status_text.gateway_messages(it)[2].endswith("; node.id must stay")
