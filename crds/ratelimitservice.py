"""The rate limit service that an instance makes in a cluster, as in a ContourConfiguration."""

from typing import Annotated

from pydantic import Field, StringConstraints

from crds.fields import Natural32, Subdomain
from crds.meta import model
from crds.workloads import Placement, Resources

PASSWORD = "redis-password"
"""The entry of a Secret that has a password of Redis."""

HostAndPort = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:[0-9]{1,5}$")
]
Image = Annotated[str, StringConstraints(min_length=1, max_length=500)]


@model
class RedisTLS:
    """TLS towards Redis. The certificate of Redis is always verified, and has to be for the host
    name in `address`."""

    ca_secret: Subdomain | None = None
    """The name of the Secret whose `ca.crt` has the certificate authority of Redis, in the
    namespace of the ContourConfiguration. By default the authorities of the machine or image are
    trusted."""


@model
class Redis:
    """The Redis that counts requests for all replicas of the rate limit service. The instance does
    not make it."""

    address: HostAndPort
    """The host name or IPv4 address of Redis and its port, such as `redis.shop:6379`."""
    tls: RedisTLS | None = None
    """TLS towards Redis. By default, without this field, Redis is asked in plain text."""
    password_secret: Subdomain | None = None
    """The name of the Secret whose `redis-password` has the password of Redis, or `USER:PASSWORD`,
    in the namespace of the ContourConfiguration. By default Redis is asked without a password."""


@model
class RateLimitService:
    """The rate limit service: pods of `envoyproxy/ratelimit`, or, if `redis` is not set, a process
    of the replica that leads. It is there as long as a route names a RateLimitFilter. Only the
    Envoys of the instance can ask it. All fields here are for the pods."""

    image: Image | None = None
    """The container image of the service. The default is the release of `envoyproxy/ratelimit` that
    this release of Contour was tested with. With the operator, an author who sets it has to be
    allowed to create pods in the namespace."""
    replicas: Natural32 = 2
    """The number of replicas of the service. The default is 2."""
    resources: Resources | None = None
    """The resources of each replica. The default is a request of 100m CPU and 64Mi memory, and a
    limit of 512Mi memory."""
    placement: Placement | None = None
    """The nodes that replicas may run on. By default they may run on any node without taints."""
    pod_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the replicas' pods. By default there are none."""
