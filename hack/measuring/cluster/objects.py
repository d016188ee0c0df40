"""What is written to a cluster: worlds as an API server takes them, and what an instance needs."""

import socket
from collections.abc import Iterable, Iterator

from hack.measuring import world
from hack.measuring.cluster.processes import NAMESPACE
from hack.measuring.world import Document


def own_address() -> str:
    """Of this machine, but not its loopback, which no EndpointSlice may have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses a route
        return str(probe.getsockname()[0])


def adapted(documents: Iterable[Document]) -> Iterator[Document]:
    """The same, as a real API server takes them.

    Services have no address of their own: for each, the API server would look for a free one and
    write that down, which takes it longer than everything else.
    """
    address = own_address()
    for document in documents:
        if document["kind"] == "EndpointSlice":
            endpoints = [it | {"addresses": [address]} for it in document["endpoints"]]
            yield document | {"endpoints": endpoints}
        elif document["kind"] == "Service":
            yield document | {"spec": document["spec"] | {"clusterIP": "None"}}
        else:
            yield document


def namespaces() -> Iterator[Document]:
    """Our own, and those of a world."""
    for name in (NAMESPACE, *map(world.namespace, range(world.NAMESPACES))):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def configuration(http: int, https: int) -> Document:
    """A ContourConfiguration for an Envoy on these ports of this machine."""
    envoy = {
        "http": {"address": "127.0.0.1", "port": http},
        "https": {"address": "127.0.0.1", "port": https},
    }
    gateway = {"controllerName": "projectcontour.io/gateway-controller"}
    return {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": NAMESPACE},
        "spec": {"envoy": envoy, "gateway": gateway},
    }
