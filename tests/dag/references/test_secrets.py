"""Certificates: a renewal costs one secret, whoever refers to it."""

from tests.dag import world
from tests.dag.test_hosts import SERVICES, proxy
from tests.testbed import pairs


def test_a_renewal_runs_no_rule_of_the_hosts_that_use_it() -> None:
    def work(hosts: int) -> tuple[int, int]:
        texts = [
            proxy("/", f"h{it}.example.com", ", tls: {secretName: cert}").replace(
                "name: app", f"name: app-{it}", 1
            )
            for it in range(hosts)
        ]
        engine = world.world(SERVICES + "".join(texts) + pairs.secret("cert"))
        before = engine.work.runs
        world.apply(engine, pairs.with_pair("cert", *pairs.pair(1)))
        return engine.work.runs - before, len(world.secure(engine, "h0.example.com"))

    few, many = work(2), work(40)
    assert few == many
    assert few[1] == 1
