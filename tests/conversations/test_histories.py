"""Random histories of a fleet: every promise holds at each step; in the end all is as published.

Clients of both dialects read, answer, refuse, break off and come back whenever it suits them,
while hosts, clusters and endpoints come, change, turn bad and go, and the control plane restarts.
"""

from random import Random

import pytest

from contour.envoy import outputs
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.quarantine import StandIn
from contour.xds.resources import CLUSTER, ENDPOINTS, ROUTE, Change, Name
from tests.contour.xds import world as messages
from tests.conversations.model import BAD, ModelEnvoy, World, is_closed
from tests.conversations.playbook import DeltaClient, SotwClient

FQDNS = [f"h{it}.test" for it in range(6)]
CLUSTERS = [f"c{it}" for it in range(5)]
SEEDS = [*range(40), 124, 130, 220, 299, 324, 421, 517, 1292, 1848, 1968, 2131]


class History:
    """A fleet, its Envoys, and what happens to them."""

    def __init__(self, seed: int, stand_in: StandIn | None) -> None:
        self.stand_in = stand_in
        self.random = Random(seed)
        self.now = 0.0
        self.world = World()
        self.fleet = self._fleet()
        dialects: list[type[DeltaClient | SotwClient]] = [DeltaClient, SotwClient]
        some = self.random.choices(dialects, [3, 1], k=self.random.randrange(1, 4))
        self.envoys = [ModelEnvoy(self.fleet, self.world, it) for it in some]

    def run(self, steps: int) -> None:
        deeds = [self.publish, self.reconnect, self.restart, self.wait]
        for _ in range(steps):
            if self.random.random() < 0.25:
                self.random.choices(deeds, [20, 1, 1, 4])[0]()
            else:
                self.converse()

    def converse(self) -> None:
        envoy = self.random.choice(self.envoys)
        self.random.choices([envoy.read, envoy.speak, envoy.speak_late], [4, 4, 1])[0](self.now)

    def wait(self) -> None:
        self.now += self.random.choice([0.1, 0.5, 2])

    def publish(self) -> None:
        batch: list[Change] = []
        for _ in range(self.random.choice([1, 1, 2, 5])):
            batch += self.random.choices([self.host, self.no_host, self.cluster], [5, 2, 3])[0]()
        batch += self.unused()
        self.random.shuffle(batch)
        self.fleet.publish(_last_of_each(batch, self.world))

    def host(self) -> list[Change]:
        fqdn, cluster = self.random.choice(FQDNS), self.random.choice(CLUSTERS)
        domain = BAD if self.random.random() < 0.15 else f"{self.random.randrange(3)}.{fqdn}"
        self.world.hosts[fqdn] = (cluster, domain)
        if domain != BAD:
            self.world.once.setdefault(fqdn, set()).add((cluster, domain))
        if cluster not in self.world.clusters:
            self.world.clusters[cluster] = 1
        return [Change(Name(ROUTE, "web"), fqdn, None), *_cluster(cluster)]

    def no_host(self) -> list[Change]:
        fqdn = self.random.choice(FQDNS)
        self.world.hosts.pop(fqdn, None)
        self.world.removals[fqdn] += 1
        return [Change(Name(ROUTE, "web"), fqdn, None)]

    def cluster(self) -> list[Change]:
        if not self.world.clusters:
            return []
        name = self.random.choice(sorted(self.world.clusters))
        self.world.clusters[name] = self.random.randrange(1, 9)
        return _cluster(name)

    def unused(self) -> list[Change]:
        """Clusters that no host needs go with their last host, or some time later."""
        used = {it for it, _ in self.world.hosts.values()}
        gone = [it for it in self.world.clusters if it not in used and self.random.random() < 0.7]
        for name in gone:
            del self.world.clusters[name]
        return [change for name in gone for change in _cluster(name)]

    def repair(self) -> None:
        """All that is bad becomes good."""
        bad = [fqdn for fqdn in self.world.hosts if self.world.is_bad(fqdn)]
        for fqdn in bad:
            self.world.hosts[fqdn] = (self.world.hosts[fqdn][0], fqdn)
            self.world.once.setdefault(fqdn, set()).add(self.world.hosts[fqdn])
        batch = [Change(Name(ROUTE, "web"), fqdn, None) for fqdn in bad]
        self.fleet.publish(_last_of_each(batch, self.world))

    def reconnect(self) -> None:
        envoy = self.random.choice(self.envoys)
        if envoy.dialect is DeltaClient:
            envoy.disconnect(self.now)
            envoy.connect(self.fleet)

    def restart(self) -> None:
        """Another control plane comes that knows what is published, and nothing else."""
        if any(it.dialect is SotwClient for it in self.envoys):
            return  # a client that does not say what it has cannot be promised anything
        if any(self.world.is_bad(it) for it in self.world.hosts):
            return  # what was accepted before is lost, so a bad host holds back its neighbours
        for envoy in self.envoys:
            envoy.disconnect(self.now)
        self.fleet = self._fleet()
        for envoy in self.envoys:
            envoy.connect(self.fleet)

    def settle(self) -> None:
        """Everybody reads and answers until nobody has anything left to say."""
        for _ in range(40):
            self.now += 3
            for envoy in self.envoys:
                while envoy.read(self.now) or envoy.speak(self.now) or envoy.speak_late(self.now):
                    pass

    def _fleet(self) -> Fleet:
        made = Fleet("web", Patience(warming=1e9, absence=50, grace=1), clock=lambda: self.now)
        made.quarantine.stand_in = self.stand_in or made.quarantine.stand_in
        fixed = [messages.route_head("web"), messages.listener("http", 80, "web")]
        names = [*fixed, *(it for name in self.world.clusters for it in _cluster(name))]
        hosts = [Change(Name(ROUTE, "web"), fqdn, None) for fqdn in self.world.hosts]
        made.publish([*fixed, *_last_of_each([*names[2:], *hosts], self.world)])
        return made


def _cluster(name: str) -> list[Change]:
    return [Change(Name(CLUSTER, name), "", None), Change(Name(ENDPOINTS, name), "", None)]


def _last_of_each(batch: list[Change], world: World) -> list[Change]:
    """What is published of each place, now that the batch is complete."""
    return [_newest(name, part, world) for name, part in {(it.name, it.part): 0 for it in batch}]


def _newest(name: Name, part: str, world: World) -> Change:
    port = world.clusters.get(name.name)
    if name.type_url == ROUTE and part in world.hosts:
        cluster, domain = world.hosts[part]
        return messages.host("web", part, cluster, [domain])
    if name.type_url == CLUSTER and port is not None:
        return messages.cluster(name.name, alt_stat_name=f"{port // 4}")
    if name.type_url == ENDPOINTS and port is not None:
        return messages.endpoints(name.name, port)
    return Change(name, part, None)


def check(seed: int, steps: int, stand_in: StandIn | None = None) -> None:
    history = History(seed, stand_in)
    for _ in range(3):
        history.run(steps)
        history.settle()
        if any(_is_stuck(it) for it in history.envoys):
            history.repair()
            history.settle()
        for envoy in history.envoys:
            check_settled(history, envoy)


def _is_stuck(envoy: ModelEnvoy) -> bool:
    """Whether it came back with routes nobody knows any more, and refuses the newest for one."""
    to = envoy.client.stream.subscriptions.get(ROUTE)
    return to is not None and to.is_held_whole("web")


def check_settled(history: History, envoy: ModelEnvoy) -> None:
    """The Envoy has what is published; what is bad it has as it was when it was good, or not."""
    world, store = history.world, history.fleet.store
    good = {fqdn: it for fqdn, it in world.hosts.items() if it[1] != BAD}
    assert {fqdn: it for fqdn, it in envoy.hosts.items() if fqdn in good} == good
    others = {fqdn: it for fqdn, it in envoy.hosts.items() if fqdn not in good}
    for fqdn, host in others.items():
        assert fqdn in world.hosts
        assert is_closed(host) or host in world.once.get(fqdn, ())
    if history.stand_in is not None:
        assert others.keys() == world.hosts.keys() - good.keys(), "nobody else takes its requests"
    clusters = envoy.has[CLUSTER].keys()
    assert world.clusters.keys() <= store.types[CLUSTER].keys() <= clusters
    # What was published together leaves together: not as long as some of it is needed.
    kept = [it for it in others.values() if not is_closed(it)]
    assert kept or clusters == world.clusters.keys()
    for type_url in (CLUSTER, ENDPOINTS):
        for name in world.clusters:
            newest = _newest(Name(type_url, name), "", world).value
            assert newest is not None
            assert envoy.has[type_url][name] == newest.body
    assert history.fleet.acceptance.is_settled


@pytest.mark.parametrize("seed", SEEDS)
def test_every_promise_holds_in_a_random_history(seed: int) -> None:
    check(seed, steps=150)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_host_that_is_refused_from_the_start_is_closed_in_a_random_history(seed: int) -> None:
    check(seed, steps=150, stand_in=outputs.stand_in)
