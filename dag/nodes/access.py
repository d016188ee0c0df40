"""Which requests are allowed: by IP filters, and by rules of an authorization policy."""

from typing import Literal

from crds.records import dataclass
from dag.nodes.matches import Path


@dataclass(frozen=True, slots=True)
class IpRange:
    """A range of addresses: of the peer, or of the client as trusted hops forward it."""

    cidr: str
    """Canonical, as `dag.values.addresses.network` writes it."""
    source: Literal["Peer", "Remote"] = "Peer"


@dataclass(frozen=True, slots=True)
class IpFilter:
    """Only these addresses, or all but these; others are answered 403."""

    action: Literal["ALLOW", "DENY"]
    ranges: tuple[IpRange, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """A claim of a verified token that has one of some values."""

    payload: str
    """`JwtProvider.payload` of the provider whose tokens are meant."""
    path: tuple[str, ...]
    """The path to the claim: its name, after those of the objects around it."""
    values: tuple[str, ...]
    is_list: bool = False
    """The claim is a list of strings."""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Some requests: those that meet all conditions; of several values any one will do."""

    action: Literal["ALLOW", "DENY"]
    methods: tuple[str, ...] = ()
    path: Path | None = None
    """Compared with the path of the request, without its query."""
    is_other_path: bool = False
    """All paths but this one."""
    ranges: tuple[IpRange, ...] = ()
    headers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names in lower case, each with its values; all headers have to match."""
    claims: tuple[Claims, ...] = ()
    """All of them have to match."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests may pass: the first rule that a request meets decides. Others get 403."""

    rules: tuple[AccessRule, ...] = ()
    default: Literal["ALLOW", "DENY"] = "DENY"
