"""What changes answers: error pages, fault injection, compression."""

from typing import Literal, NamedTuple

from crds.records import dataclass
from dag.nodes.texts import HeaderMatch, HeaderPolicy, Operator, Value

MILLION = 1_000_000


REQUESTED = "contour.error_pages"
"""The namespace of the metadata in which Envoy records what pages repeat."""


def requested(part: Literal["authority", "name", "path"]) -> Operator:
    """What a client has asked for, before its route rewrites that: the host with the port, the host
    without it, or the path with the query. Only in headers of an `ErrorPage`."""
    return Operator("DYNAMIC_METADATA", f"{REQUESTED}:{part}")


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """What clients see in place of an error answer."""

    statuses: tuple[tuple[int, int], ...]
    """Ranges of status codes, the end not included; empty where headers alone are compared."""
    body: Value = ""
    content_type: str = "text/plain"
    """The content type; none is set if empty."""
    status: int | None = None
    """The status in place of the original one."""
    headers: tuple[HeaderMatch, ...] = ()
    """Conditions on the headers of the answer, of which none is inverted. All have to hold."""
    source: Literal["any", "envoy", "backend"] = "any"
    """Whose answers are replaced: Envoy's, the backend's, or both."""
    changes: HeaderPolicy | None = None
    """Headers of the new answer; none is removed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Injected delays and errors that some requests get before or instead of the action."""

    delay: float | None = None
    """Seconds, more than 0."""
    delayed: int = MILLION
    """How many of a million requests are delayed."""
    status: int | None = None
    """The status code of the error, 200 to 599."""
    grpc_status: int | None = None
    """Or its gRPC status."""
    aborted: int = MILLION
    """How many of a million requests get the error."""


class Compressor(NamedTuple):
    """An algorithm by which bodies of answers are compressed for clients that can read that."""

    algorithm: Literal["gzip", "brotli", "zstd"]
    shortest: int = 30
    """Bytes: no shorter body is compressed; 30 at least."""
