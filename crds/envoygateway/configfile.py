"""EnvoyGateway: the configuration file of Envoy Gateway, which is no object of a cluster.

The fields are those of Envoy Gateway 0.5 and 1.9. A field with the mark `Unserved` is an error
where it is set, for leaving it out would serve something else than its author wrote. One with the
mark `Irrelevant` is about the processes of Envoy Gateway itself and is told as a warning.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.endpoints import Address
from crds.envoygateway.extensionmanager import ExtensionManager
from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, NonEmpty, Port
from crds.meta import model
from crds.ratelimitservice import HostAndPort
from crds.records import dataclass
from crds.rules import rule
from crds.unserved import Unserved

CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"


@dataclass(frozen=True, slots=True)
class Irrelevant:
    """In `Annotated[T, Irrelevant("…")]`: the field has no effect, and nothing is lost by that."""

    why: str


def _not_served(instead: str) -> Unserved:
    return Unserved(instead=instead)


@model
class GatewaySettings:
    """Which Gateways are served."""

    controller_name: NonEmpty = CONTROLLER
    """GatewayClasses with this controller name, and their Gateways, are served."""


@model
class Deploy:
    """In which namespace the Envoys of a Gateway run."""

    type: Annotated[
        Literal["ControllerNamespace", "GatewayNamespace"],
        Unserved(
            values=("ControllerNamespace",),
            instead="the Envoys of a Gateway run in its namespace: GatewayNamespace",
        ),
    ] = "GatewayNamespace"
    """Only `GatewayNamespace` is served."""


_FLAGS = "the flags of `contour serve` set it"
_OWN_PODS = "it is about pods of Envoy Gateway itself"


@model
class KubernetesProvider:
    """How a cluster is served."""

    deploy: Deploy | None = None
    """In which namespace the Envoys of a Gateway run."""
    watch: Annotated[
        Opaque | None,
        _not_served("all namespaces are watched, since GatewayClasses are in none"),
    ] = None
    """Which namespaces are watched."""
    leader_election: Annotated[
        Opaque | None, _not_served(f"{_FLAGS}: --leader-election-lease-duration and others")
    ] = None
    """How the replicas agree on which of them writes."""
    rate_limit_deployment: Annotated[Opaque | None, Irrelevant(_OWN_PODS)] = None
    """Pods of the rate limit service."""
    rate_limit_hpa: Annotated[Opaque | None, Irrelevant(_OWN_PODS)] = None
    """The autoscaler of the rate limit service."""
    rate_limit_pdb: Annotated[Opaque | None, Irrelevant(_OWN_PODS)] = Field(
        default=None, validation_alias="rateLimitPDB"
    )
    """The PodDisruptionBudget of the rate limit service."""
    shutdown_manager: Annotated[
        Opaque | None, Irrelevant("the image is that of --contour-image")
    ] = None
    """The container beside Envoy that drains it."""
    client: Annotated[
        Opaque | None, Irrelevant("requests to the API server are not limited by a rate")
    ] = None
    """How fast requests are sent to the API server."""
    cache_sync_period: Annotated[
        str | None, Irrelevant("objects are followed; nothing is listed in intervals")
    ] = None
    """How often everything is looked at again."""
    proxy_topology_injector: Annotated[Opaque | None, Irrelevant(_OWN_PODS)] = None
    """A webhook that tells Envoys their zone."""
    overwrite_control_plane_certs: Annotated[
        Flag | None, Irrelevant("certificates are replaced before they expire")
    ] = None
    """Whether certificates are made anew."""


@model
class FileProvider:
    """Manifests in files and folders."""

    paths: tuple[NonEmpty, ...] = Field(default=(), max_length=256)
    """The files and folders; those of the command line are read, too."""


@model
class CustomResource:
    """Where the objects come from, of a custom provider."""

    type: Literal["File", "Kubernetes"]
    """`File`, or `Kubernetes`, which cannot be served with the infrastructure `Host`."""
    file: FileProvider | None = None
    """Which manifests are served."""


_DIRECTORY = _not_served("--state-dir names the one directory of `contour run`")


@model
class HostInfrastructure:
    """Envoys as processes of this machine."""

    config_home: Annotated[str | None, _DIRECTORY] = None
    """Where certificates are."""
    data_home: Annotated[str | None, _DIRECTORY] = None
    """Where releases of Envoy are kept."""
    state_home: Annotated[str | None, _DIRECTORY] = None
    """Where logs are."""
    runtime_dir: Annotated[str | None, _DIRECTORY] = None
    """Where sockets are."""


@model
class CustomInfrastructure:
    """Where the Envoys run, of a custom provider."""

    type: Annotated[
        Literal["Host", "Remote"],
        Unserved(values=("Remote",), instead="only Host is served"),
    ]
    """`Host`: processes of this machine."""
    host: HostInfrastructure | None = None
    """Details of these processes."""
    remote: Annotated[Opaque | None, _not_served("only Host is served")] = None
    """A server that runs Envoys."""


@model
class CustomProvider:
    """Objects from somewhere, Envoys somewhere else."""

    resource: CustomResource
    """Where the objects come from."""
    infrastructure: CustomInfrastructure | None = None
    """Where the Envoys run."""


@model
class Provider:
    """Where objects come from and Envoys run."""

    type: Literal["Kubernetes", "File", "Custom"]
    """`Kubernetes` for `contour serve`; `File`, or `Custom` with files, for `contour run`."""
    kubernetes: KubernetesProvider | None = None
    """Allowed only with the type Kubernetes."""
    file: FileProvider | None = None
    """Allowed only with the type File."""
    custom: CustomProvider | None = None
    """Required with the type Custom, and allowed with no other."""
    _member = rule(
        "kubernetes, file and custom are each allowed only with the type of that name",
        lambda it: all(
            getattr(it, name) is None or it.type.lower() == name
            for name in ("kubernetes", "file", "custom")
        ),
    )
    _custom = rule(
        "the type Custom needs custom",
        lambda it: it.type != "Custom" or it.custom is not None,
    )


@model
class Logging:
    """What the process logs."""

    level: dict[str, Literal["debug", "info", "warn", "error"]] = Field(default_factory=dict)
    """The least severe messages that are logged, by component. Only `default` is served."""


@model
class AdminAddress:
    """Where the debugging pages are."""

    host: Address = "127.0.0.1"
    """The IP address."""
    port: Port = 19000
    """The TCP port."""


@model
class Admin:
    """The debugging pages of the control plane."""

    address: AdminAddress | None = None
    """Where they are."""
    enable_dump_config: Annotated[
        Flag | None,
        Unserved(values=(False,), instead="these pages always show the configuration"),
    ] = None
    """Whether they show the configuration: they always do."""
    enable_pprof: Annotated[
        Flag | None, Unserved(values=(True,), instead="there are no profiles of Go")
    ] = None
    """Whether there are profiles."""
    debug: Annotated[
        Flag | None, Unserved(values=(True,), instead="there are no profiles of Go")
    ] = None
    """An older spelling of `enablePprof`."""


@model
class RateLimitRedisTLS:
    """TLS towards Redis."""

    certificate_ref: Annotated[
        Opaque | None, _not_served("no certificate of its own is shown to Redis")
    ] = None
    """The Secret with the certificate that is shown to Redis."""


@model
class RateLimitRedis:
    """The Redis that counts."""

    url: HostAndPort
    """The host name or IPv4 address of Redis and its port."""
    tls: RateLimitRedisTLS | None = None
    """TLS towards Redis, whose certificate is verified with the authorities of the image, or of the
    machine."""


@model
class RateLimitBackend:
    """Where the counts are kept."""

    type: Literal["Redis"]
    """Only Redis."""
    redis: RateLimitRedis
    """The Redis that counts."""


@model
class RateLimit:
    """How requests are counted that RateLimitFilters limit."""

    backend: RateLimitBackend | None = None
    """Where the counts are kept. It is required in a cluster; on one machine the default is the
    memory of a process beside Envoy."""
    fail_closed: Flag = False
    """Whether requests that cannot be counted are refused."""
    timeout: Annotated[str | None, _not_served("the time to answer is fixed")] = None
    """The longest time that counting may take."""
    telemetry: Annotated[Opaque | None, Irrelevant(_OWN_PODS)] = None
    """Metrics and traces of the rate limit service."""


_KIND_NOT_SERVED = "objects of this kind are not served"


@model
class ExtensionApis:
    """Kinds of Envoy Gateway that are served only if they are switched on."""

    enable_envoy_patch_policy: Flag | None = None
    """EnvoyPatchPolicy: each Gateway's for its own Envoys."""
    enable_backend: Flag | None = None
    """Whether routes may lead to Backends. The default is false."""
    enable_lua: Annotated[Flag | None, Unserved(values=(True,), instead=_KIND_NOT_SERVED)] = None
    """Lua in EnvoyExtensionPolicy."""
    disable_lua: Annotated[Flag | None, Irrelevant("Lua is not served")] = None
    """Lua in EnvoyExtensionPolicy."""


@model
class EnvoyGateway:
    """The configuration of an instance, as users of Envoy Gateway write it."""

    gateway: GatewaySettings | None = None
    """Which Gateways are served."""
    provider: Provider | None = None
    """Where objects come from and Envoys run. By default what the command serves."""
    logging: Logging | None = None
    """What the process logs."""
    admin: Admin | None = None
    """The debugging pages of the control plane."""
    rate_limit: RateLimit | None = None
    """How requests are counted that RateLimitFilters limit."""
    extension: ExtensionManager | None = None
    """An older name of `extensionManager`."""
    extension_manager: ExtensionManager | None = None
    """The extension."""
    extension_managers: tuple[ExtensionManager, ...] = ()
    """Several extensions, asked in this order."""
    extension_apis: ExtensionApis | None = None
    """Kinds of Envoy Gateway that are served only if they are switched on."""
    telemetry: Annotated[
        Opaque | None, _not_served("`contour serve` has metrics at --http-port, and no traces")
    ] = None
    """Metrics and traces of the control plane."""
    xds_server: Annotated[Opaque | None, _not_served(_FLAGS)] = None
    """The server of Envoys."""
    gateway_api: Annotated[
        Opaque | None, _not_served("what of the Gateway API is served cannot be chosen")
    ] = Field(default=None, validation_alias="gatewayAPI")
    """What of the Gateway API is served."""
    runtime_flags: Annotated[
        Opaque | None, _not_served("there are no features that a flag switches")
    ] = None
    """Features that are switched on or off."""
    envoy_proxy: Annotated[Opaque | None, _not_served("name an EnvoyProxy in the GatewayClass")] = (
        None
    )
    """An EnvoyProxy for all Gateways."""
    _extensions = rule(
        "only one of extension, extensionManager and extensionManagers may be set",
        lambda it: sum(map(bool, (it.extension, it.extension_manager, it.extension_managers))) <= 1,
    )
    _names = rule(
        "each of several extensionManagers needs a name of its own",
        lambda it: (
            len({one.name for one in it.extension_managers} - {None}) == len(it.extension_managers)
        ),
    )
