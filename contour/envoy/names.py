"""What resources are called: by identity or by content, never by a position in a list.

A name that outlives its content lets Envoy replace in place; a cluster, whose replacement would be
warmed again, is named by its content instead. Elsewhere: which shard a host is in (`shards`).
"""

from functools import lru_cache
from hashlib import blake2b

from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SCOPE, SECRET, Name
from crds.meta import NamespacedName
from dag import nodes


def endpoints(port: nodes.ServicePort) -> Name:
    """The endpoints of a Service port, whatever the policies of the clusters that use them."""
    # The port's name too: one name stands for one node, or a renamed port would remove its heir.
    path = (port.service.namespace, port.service.name, str(port.port), port.port_name)
    return Name(ENDPOINTS, "/".join(it for it in path if it))


def cluster(port: nodes.ServicePort, body: bytes) -> Name:
    """A cluster: its Service port, and a hash of everything else about it."""
    digest = blake2b(body, digest_size=5).hexdigest()
    return Name(CLUSTER, f"{port.service.namespace}/{port.service.name}/{port.port}/{digest}")


def statistics(port: nodes.ServicePort) -> str:
    """Under which name a cluster is counted: series survive a change of its policies."""
    return f"{port.service.namespace}_{port.service.name}_{port.port}"


def secret(key: NamespacedName) -> Name:
    """A certificate; renewing it changes the content under the same name."""
    return Name(SECRET, f"{key.namespace}/{key.name}")


@lru_cache(maxsize=1024)
def listener(name: str) -> Name:
    """A listener is called what the rules call it."""
    return Name(LISTENER, name)


@lru_cache(maxsize=65536)
def routes(name: str) -> Name:
    """A RouteConfiguration."""
    return Name(ROUTE, name)


def scope(name: str) -> Name:
    """A scope is called as the RouteConfiguration that it leads to."""
    return Name(SCOPE, name)


def default_routes(listener: str) -> str:
    """The RouteConfiguration of connections that name no host we know: only the host `*`."""
    return f"{listener}/default"


def chain(tls: nodes.Tls) -> str:
    """A filter chain: the certificate, and a hash of all TLS settings."""
    digest = blake2b(repr(tls).encode(), digest_size=5).hexdigest()
    return f"{tls.secret.namespace}/{tls.secret.name}/{digest}"
