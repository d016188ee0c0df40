"""The listeners for probes and scrapes, as Envoy is told of them."""

from collections.abc import Iterator

import pytest

from contour import monitoring
from contour.envoy import names
from contour.xds import resources
from dag import nodes
from dag.configuration.reading import Settings
from tests.contour.envoy import world


@pytest.fixture(autouse=True)
def _rows() -> Iterator[None]:
    with world.nodes_as_rows():
        yield


def _told(*monitors: nodes.Monitor) -> world.World:
    made = world.World()
    made.listeners(world.plain_listener())
    made.engine.write(world.SETTINGS, (), Settings(monitors=monitors))
    made.settle()
    return made


def test_probes_pass_where_others_are_turned_away_but_those_that_ask_for_it_do_not() -> None:
    made = _told(
        nodes.Monitor(9000, "", ("health",)), nodes.Monitor(9001, "10.0.0.1", ("overload",))
    )
    health, enforced = (made.message(names.listener(f"monitoring-{it}")) for it in (9000, 9001))
    assert (health.bypass_overload_manager, enforced.bypass_overload_manager) == (True, False)
    assert (health.ignore_global_conn_limit, enforced.ignore_global_conn_limit) == (True, False)
    assert health.address.socket_address.address == "0.0.0.0"
    assert enforced.address.socket_address.address == "10.0.0.1"


def test_a_listener_is_called_by_its_port_and_replaced_in_place() -> None:
    made = _told(nodes.Monitor(9000, "", ("health",)))
    both = nodes.Monitor(9000, "127.0.0.1", ("health", "metrics"))
    made.engine.write(world.SETTINGS, (), Settings(monitors=(both,)))
    (change,) = made.settle()
    assert change.name == names.listener("monitoring-9000")


def test_the_usual_one_is_called_as_that_of_a_bootstrap_unless_it_is_encrypted() -> None:
    made = _told(nodes.Monitor(8002, "", ("health",)))
    assert monitoring.NAME in made.names(resources.LISTENER)
    made = _told(nodes.Monitor(8002, "", ("metrics",), nodes.MonitorTls("/a/b", "/a/c", "/d")))
    assert monitoring.NAME not in made.names(resources.LISTENER)
    assert made.names(resources.SECRET) == ["metrics-ca-certificate", "metrics-tls-certificate"]
