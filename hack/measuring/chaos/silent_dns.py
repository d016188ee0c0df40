"""The names of one tenant's Services are never resolved; other tenants must not be affected.

Envoy withholds its acknowledgement of clusters while it resolves names of any of them. Here it uses
a DNS server of ours that never answers during the run. That needs an `/etc/resolv.conf` of its own,
and therefore root.
"""

import asyncio
import os
import socket
import statistics
from collections.abc import Iterator
from contextlib import closing

from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Load, Request, Tally
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site, is_ok
from tests.testbed.world import Document, World

NAME = "silent-dns"
HOSTS, TENANTS = 100, 20
ADDRESS = "127.0.0.53"
ADDED_DELAY = 5.0
"""The median delay that counts as none, in milliseconds: less than one turn of Envoy's."""


@measures(NAME)
def silent_dns(options: Options) -> Iterator[Figure]:
    """Hosts with new Services are added before, and while the names are resolved."""
    if os.geteuid() != 0:
        raise PermissionError("needs the rights of root, to give Envoy a DNS server of its own")
    before, after, queries, tally = asyncio.run(_run(options.times(200, 50)))
    yield Figure("queries that were left without an answer", queries, "", 1, at_least=True)
    yield Figure("event to first 200 of a new host before, median", before[0], "ms")
    yield Figure("event to first 200 of a new host before, p99", before[1], "ms")
    yield Figure("event to first 200 of a new host meanwhile, median", after[0], "ms",
                 before[0] + ADDED_DELAY)  # fmt: skip
    yield Figure("event to first 200 of a new host meanwhile, p99", after[1], "ms")
    yield Figure("requests sent", tally.sent, "")
    yield Figure("requests lost", tally.lost, "", 0)


Spread = tuple[float, float]


async def _run(times: int) -> tuple[Spread, Spread, int, Tally]:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as silent:
        silent.bind((ADDRESS, 53))
        silent.setblocking(False)
        async with backends(1) as ports:
            of = World(HOSTS, HOSTS, backends=ports)
            documents = (world.configuration(enableExternalNameService=True), *of.documents())
            async with served.running(of, documents, resolver=ADDRESS) as it:
                requests = [Request(world.fqdn(host)) for host in range(HOSTS)]
                async with Load(it.port, requests, 100).running() as tally:
                    before = [await _added(it, of, HOSTS + each) for each in range(times)]
                    await it.change([each for n in range(TENANTS) for each in _tenant(n)])
                    after = [await _added(it, of, 2 * HOSTS + times + n) for n in range(times)]
        return _spread(before), _spread(after), _heard(silent), tally


async def _added(it: Site[Fed], of: World, number: int) -> float:
    """Adds a host with a Service, and therefore a cluster, of its own."""
    root, child = of.host(number)
    for document in (root, child):
        for route in document["spec"]["routes"]:
            route["services"][0]["name"] = f"service-{number}"
    connection, request = Connection(it.port), Request(world.fqdn(number))
    seen, took = await asyncio.gather(
        probe.observed(connection, request, is_ok, frozenset({404})),
        it.change([of.service(number), of.slice(number), root, child]),
    )
    connection.close()
    return seen - took.came


def _tenant(number: int) -> tuple[Document, Document]:
    """A Service whose name is never resolved, and a host that uses it."""
    metadata = {"name": f"silent-{number}", "namespace": "tenant"}
    name = f"silent-{number}.example.org"
    service = {"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]}
    route = {"services": [{"name": f"silent-{number}", "port": 80}]}
    proxy = {"virtualhost": {"fqdn": name}, "routes": [route]}
    return (
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service},
        {"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": metadata}
        | {"spec": proxy},
    )


def _heard(silent: socket.socket) -> int:
    number = 0
    try:
        while silent.recv(4096):
            number += 1
    except BlockingIOError:
        return number
    return number


def _spread(seconds: list[float]) -> Spread:
    return statistics.median(seconds) * 1000, percentile(seconds, 0.99) * 1000
