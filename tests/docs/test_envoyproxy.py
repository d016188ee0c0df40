"""What docs/envoyproxy.md and its example show is accepted, and does what they say."""

from pathlib import Path

from dag import fleets
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration
from tests.dag.world import world

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "manifests/examples/envoyproxy.yaml").read_text()


def test_the_example_is_what_the_page_shows_and_more() -> None:
    page = (ROOT / "docs/envoyproxy.md").read_text()
    shown = page.split("```yaml\n")[1].partition("```")[0]
    assert shown in EXAMPLE


def test_the_example_holds() -> None:
    it = world(configuration("gateway: {mode: PerGateway}") + "---\n" + EXAMPLE)
    assert status_text.gateway_class(it, "edge")[0] == "Accepted"
    assert status_text.gateway_messages(it, "web")[0] == "the Gateway is served"
    fleet = it.answer(fleets.fleet, "default/web")
    assert fleet is not None
    assert fleet.publishing is not None
    assert (fleet.publishing.type, fleet.workload.replicas) == ("ClusterIPService", 2)
    assert fleet.workload.log_level == "warn"
    assert fleet.details.autoscaler is not None
    assert fleet.details.autoscaler.max_replicas == 10
