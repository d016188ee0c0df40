"""Which Services gRPC clients without a proxy may call, as in a ContourConfiguration."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.fields import Label
from crds.meta import model
from crds.rules import rule

Authority = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$", max_length=253)
]
ClientNamespace = Annotated[
    str, StringConstraints(pattern=r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$", max_length=63)
]


@model
class GrpcExport:
    """Services that gRPC clients may call, and the namespaces of these clients. A Service is meant
    if it is in one of `namespaces` and has all labels of `matchLabels`; at least one of the two
    must be set."""

    namespaces: tuple[Label, ...] = Field(default=(), max_length=256)
    """The namespaces of the Services. By default they may be in any namespace."""
    match_labels: dict[str, str] = Field(default_factory=dict)
    """The labels that the Services have. By default they may have any labels."""
    client_namespaces: tuple[ClientNamespace, ...] = Field(default=(), max_length=256)
    """The namespaces whose clients may call them; `*` means all. By default only clients of a
    Service's own namespace may call it."""
    transport: Literal["Plaintext", "MutualTLS"] = "Plaintext"
    """How clients and servers talk to one another: by default in `Plaintext`. With `MutualTLS` both
    show a certificate of the control plane's authority, and servers refuse clients of other
    namespaces than `clientNamespaces`; both have to use the xDS credentials of gRPC. If several
    entries mean a Service, `MutualTLS` wins."""
    authority: Authority | None = None
    """The authority of another control plane that exports Services of the same names. Calls to the
    Services then go where that one says, and clients have to know both authorities. If several
    entries mean a Service, the first authority wins. By default calls go to the Services of this
    control plane; names of other authorities than those written here are never referred to."""
    _either = rule(
        "at least one of namespaces and matchLabels must be set",
        lambda it: bool(it.namespaces or it.match_labels),
        "(has(self.namespaces) && size(self.namespaces) > 0) || "
        "(has(self.matchLabels) && size(self.matchLabels) > 0)",
    )


@model
class GrpcClients:
    """gRPC applications that get their configuration by xDS (`xds:///echo.shop:50051`), without a
    proxy between them and the Services that they call."""

    authority: Authority | None = None
    """The authority of this control plane in `xdstp:` names, such as `xds.example.com`. It answers
    for the names of this authority and of `aliases`, and for no others. By default it has none and
    only answers for names without authority, such as `echo.shop:50051`."""
    aliases: tuple[Authority, ...] = Field(default=(), max_length=8)
    """Other authorities of the same control plane, such as the old one after it was renamed."""
    certificate_namespaces: tuple[Label, ...] = Field(default=(), max_length=256)
    """The namespaces in which the control plane makes and renews a Secret `grpccert` with the
    certificate of their gRPC clients and servers. It needs rights on Secrets there. By default it
    makes none. It has no effect with `contour run`."""
    exports: tuple[GrpcExport, ...] = Field(default=(), max_length=256)
    """The Services that clients may call. What no entry names is not there for them."""
    _others = rule(
        "authority of an export must be that of another control plane",
        lambda it: not {it.authority, *it.aliases} & {one.authority for one in it.exports} - {None},
        "!has(self.exports) || self.exports.all(it, !has(it.authority) || "
        "((!has(self.authority) || it.authority != self.authority) && "
        "(!has(self.aliases) || !(it.authority in self.aliases))))",
    )
