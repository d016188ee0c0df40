"""Extensions as in the configuration file of Envoy Gateway; ours are in `crds.hooks`."""

from typing import Annotated, Literal

from crds.envoygateway.opaque import AnyJson, Opaque
from crds.fields import Flag, Label, NonEmpty, Port, Positive32
from crds.hooks import ExtensionKind, Hook, Host, SocketPath
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved


@model
class CertificateRef:
    """A Secret."""

    group: Literal[""] = ""
    """The group of Secrets, which is empty."""
    kind: Literal["Secret"] = "Secret"
    """Only Secrets."""
    name: NonEmpty
    """The name of the Secret."""
    namespace: Label | None = None
    """The namespace of the Secret. The default is that of the instance."""


@model
class ExtensionTLS:
    """How the connection to an extension is encrypted."""

    certificate_ref: CertificateRef
    """The Secret with the authorities that sign the certificate of the extension."""
    client_certificate_ref: CertificateRef | None = None
    """The Secret with the certificate that is shown to the extension."""


@model
class Fqdn:
    """A DNS name and a port."""

    hostname: Host
    """The DNS name."""
    port: Port
    """The TCP port."""


@model
class IpPort:
    """An IP address and a port."""

    address: Host
    """The IP address."""
    port: Port
    """The TCP port."""


@model
class UnixSocket:
    """A Unix socket."""

    path: SocketPath
    """The path of the socket."""


_BACKOFF = Unserved(instead="the pauses between two attempts are fixed; set maxAttempts alone")


@model
class Retry:
    """How often a question is asked again."""

    max_attempts: Positive32 = 4
    """The number of attempts, at most 11."""
    initial_backoff: Annotated[str | None, _BACKOFF] = None
    """The first pause."""
    max_backoff: Annotated[str | None, _BACKOFF] = None
    """The longest pause."""
    backoff_multiplier: Annotated[AnyJson | None, _BACKOFF] = None
    """How pauses grow."""
    retryable_status_codes: Annotated[tuple[AnyJson, ...], _BACKOFF] = ()
    """After which codes of gRPC it is tried again."""


@model
class ExtensionService:
    """Where an extension is reached: exactly one of the four."""

    host: Host | None = None
    """A DNS name or IP address."""
    port: Port = 80
    """The TCP port beside `host`."""
    fqdn: Fqdn | None = None
    """A DNS name and a port."""
    ip: IpPort | None = None
    """An IP address and a port."""
    unix: UnixSocket | None = None
    """A Unix socket."""
    tls: ExtensionTLS | None = None
    """How the connection is encrypted."""
    retry: Retry | None = None
    """How often a question is asked again."""
    _one = rule(
        "exactly one of host, fqdn, ip and unix must be set",
        lambda it: sum(one is not None for one in (it.host, it.fqdn, it.ip, it.unix)) == 1,
    )


@model
class XdsHooks:
    """When an extension is asked."""

    pre: tuple[Hook, ...] = ()
    """Hooks before the translation, which are never called."""
    post: tuple[Hook, ...] = ()
    """Hooks after the translation."""
    translation: Annotated[
        Opaque | None, Unserved(instead="what the hook Translation is sent cannot be chosen")
    ] = None
    """What the hook Translation is sent."""


@model
class ExtensionHooks:
    """When an extension is asked: `xdsTranslator`, or without it in the oldest spelling."""

    xds_translator: XdsHooks | None = None
    """The hooks."""
    pre: tuple[Hook, ...] = ()
    """An older place of `xdsTranslator.pre`."""
    post: tuple[Hook, ...] = ()
    """An older place of `xdsTranslator.post`."""
    _one = rule(
        "hooks are either in xdsTranslator or beside it",
        lambda it: it.xds_translator is None or not (it.pre or it.post),
    )


@model
class ExtensionManager:
    """A server that changes what Envoys are served."""

    name: Label | None = None
    """The name of the extension. Required in `extensionManagers`."""
    resources: tuple[ExtensionKind, ...] = ()
    """The kinds of objects that the extension brings."""
    policy_resources: Annotated[
        tuple[AnyJson, ...], Unserved(instead="policies of extensions are not served")
    ] = ()
    """The kinds of its policies."""
    backend_resources: Annotated[
        tuple[AnyJson, ...], Unserved(instead="backends of extensions are not served")
    ] = ()
    """The kinds of its backends."""
    hooks: ExtensionHooks
    """When it is asked."""
    service: ExtensionService
    """Where it is reached."""
    fail_open: Flag = False
    """Whether hosts that it has not answered for are served without its changes."""
    max_message_size: Annotated[
        AnyJson | None, Unserved(instead="the largest message is fixed")
    ] = None
    """The largest message."""
