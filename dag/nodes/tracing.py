"""Tracing: which requests are traced, and the attributes of their spans."""

from types import MappingProxyType
from typing import NamedTuple

from crds.records import dataclass
from dag.nodes.texts import Format, Operator
from dag.nodes.upstreams import AnyCluster

REQUEST_PROPERTIES = MappingProxyType(
    {
        "client.address": Format((Operator("DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT"),)),
        "client.port": Format((Operator("DOWNSTREAM_REMOTE_PORT"),)),
        "http.request.method": Format((Operator("REQ", ":METHOD"),)),
        "http.response.status_code": Format((Operator("RESPONSE_CODE"),)),
        "network.local.address": Format((Operator("DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT"),)),
        "network.local.port": Format((Operator("DOWNSTREAM_LOCAL_PORT"),)),
        "network.peer.address": Format(
            (Operator("DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT"),)
        ),
        "network.peer.port": Format((Operator("DOWNSTREAM_DIRECT_REMOTE_PORT"),)),
        "server.port": Format((Operator("DOWNSTREAM_LOCAL_PORT"),)),
        "url.path": Format((Operator("PATH", "NQ"),)),
        "url.scheme": Format((Operator("REQ", ":SCHEME"),)),
        "user_agent.original": Format((Operator("REQ", "USER-AGENT"),)),
    }
)
"""OpenTelemetry's attribute names of a request (semantic conventions), with Envoy's formats. Those
that Envoy has in another form, such as `network.protocol.version`, are not here."""


class CustomTag(NamedTuple):
    """A tag on every span: literal text, the value of a request header or a property."""

    name: str
    literal: str = ""
    header: str = ""
    request_property: str = ""
    """One of `REQUEST_PROPERTIES`."""


class Sampling(NamedTuple):
    """Which requests are traced, decided by the identifier of the trace."""

    rate: tuple[int, int] = (1, 1)
    """Numerator and denominator of the share."""
    follows_parent: bool = True
    """Sampling decisions of the sender hold; the share is of the requests without one."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """Spans go to an OpenTelemetry collector."""

    cluster: AnyCluster
    service_name: str = "contour"
    timeout: float | None = None
    overall: float = 100.0
    """Percent, as are the other two."""
    client: float = 100.0
    random: float = 100.0
    max_path_length: int = 256
    tags: tuple[CustomTag, ...] = ()
    pod_details: bool = True
    """Tags with the pod's name and namespace (from the environment of Envoy)."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the calls to the collector."""
    span_name: str = ""
    """Literal text; Envoy's own name if empty."""
    sampling: Sampling | None = None
    """None: by the percentages, and by what the sender of a request has decided."""
