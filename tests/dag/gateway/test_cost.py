"""What a change costs: as much with 3,000 routes on the Gateway as with 30."""

from collections.abc import Callable

import pytest
import yaml

from crds.decode import Decoded, decode
from dag import tables
from dag.incremental import Engine, Work
from tests.dag.gateway import told
from tests.dag.gateway.manifests import gateway, gateway_class, grant, on, route, service
from tests.dag.world import apply, delete, key, world

SIZES = (30, 3000)


def crowd(size: int) -> Engine:
    """A Gateway with many routes, each for a host of its own."""
    it = world(gateway_class() + gateway("gw") + service("s1"))
    template = yaml.safe_load(route("r"))
    for number in range(size):
        name = f"r{number}"
        spec = template["spec"] | {"hostnames": [f"h{number}.com"]}
        found = decode(template | {"metadata": {"name": name}, "spec": spec})
        assert isinstance(found, Decoded)
        it.write(tables.HTTPROUTES, key(name), found.object)
    it.settle()
    return it


CHANGES: dict[str, Callable[[Engine], None]] = {
    "a route comes": lambda it: apply(it, route("new", hosts=("new.com",))),
    "a route goes": lambda it: delete(it, "HTTPRoute", "r7"),
    "a route is edited": lambda it: apply(it, route("r7", on("/x", "s1"), hosts=("h7.com",))),
    "a route takes another host": lambda it: apply(it, route("r7", hosts=("else.com",))),
    "a route joins the host of another": lambda it: apply(it, route("new", hosts=("h7.com",))),
    "a Service that no route knows comes": lambda it: apply(it, service("other")),
    "a grant that no route needs comes": lambda it: apply(it, grant("g", "default")),
    "a route of another Gateway comes": lambda it: apply(it, route("x", parents="{name: other}")),
}


def work(it: Engine, change: Callable[[Engine], None]) -> tuple[int, int, int]:
    it.work = Work()
    change(it)
    return it.work.runs, it.work.checks, it.work.woken


@pytest.fixture(scope="module", name="crowds")
def _crowds() -> tuple[Engine, ...]:
    return tuple(map(crowd, SIZES))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_costs_as_much_with_many_routes_as_with_few(
    crowds: tuple[Engine, ...], name: str
) -> None:
    small, large = (work(it, CHANGES[name]) for it in crowds)
    assert small == large
    assert max(small) < 60


def test_a_certificate_or_field_that_routes_do_not_read_leaves_them_alone() -> None:
    it = crowd(30)
    before = gateway("gw").replace("name: gw,", "name: gw, labels: {a: b},")
    runs, _, woken = work(it, lambda it: apply(it, before))
    assert runs < 10
    assert woken > 60
    assert told.attached(it) == {"http": 30}
