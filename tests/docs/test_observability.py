"""Every metric that is exported is documented, and every one that is documented is exported."""

import re
from pathlib import Path

from contour.controller import Controller
from contour.metrics import certificates, cluster, envoyconfigs, fleets, graph, httpproxies
from contour_operator import metrics
from observability import exposition
from tests.contour.test_controller import Published

DOCUMENT = Path(__file__).parents[2] / "docs" / "observability.md"


def test_the_document_names_every_metric_and_no_other() -> None:
    documented = set(re.findall(r"`(contour_[a-z_]+)`", DOCUMENT.read_text()))
    assert documented == exported()


def test_the_document_of_the_operator_names_every_metric_of_it() -> None:
    text = DOCUMENT.with_name("operator.md").read_text()
    source = metrics.Source(metrics.Tally(), metrics.Known, lambda: True)
    assert set(re.findall(r"`(contour_[a-z_]+)`", text)) == named(exposition.Metrics(source))


def exported() -> set[str]:
    """The names of the families, as a query has to spell them: counters end in `_total`."""
    controller = Controller(Published())
    engine = controller.engine
    found = exposition.Metrics(
        fleets.Fleets({}, {}),
        envoyconfigs.EnvoyConfigs(engine, controller.envoy_configs.counts, {}, lambda: True),
        httpproxies.HTTPProxies(engine, controller.board, lambda: True),
        graph.Graph(engine, graph.Settlings(), graph.Operations()),
        certificates.Certificates(engine, {}),
        cluster.Provider(lambda: ()),
        cluster.Statuses({}, lambda: 0),
        cluster.Events(lambda: 0, lambda: 0),
        cluster.Replicas(lambda: True, lambda: True, lambda: 0),
    )
    return named(found)


def named(found: exposition.Metrics) -> set[str]:
    families = [it for it in found.registry.collect() if it.name.startswith("contour_")]
    return {f"{it.name}_total" if it.type == "counter" else it.name for it in families}
