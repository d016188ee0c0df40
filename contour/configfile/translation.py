"""Translates an EnvoyGateway into our settings: a ContourConfiguration, and further settings of the
process.

The file implies the defaults of Envoy Gateway: only Gateways are served, each has Envoys of its
own, and in a cluster a load balancer is in front of them. Errors that our rules find in the
configuration name the path of the field that the user wrote.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contour.configfile.reading import FaultError
from crds.contourconfiguration import (
    ContourConfiguration,
    ContourConfigurationSpec,
    GatewaySettings,
    PatchPolicySettings,
)
from crds.endpoints import DebugEndpoint, ObjectName
from crds.envoygateway import configfile as crd
from crds.envoygateway.extensionmanager import (
    CertificateRef,
    ExtensionManager,
    ExtensionService,
    Retry,
)
from crds.envoysettings import Envoy
from crds.hooks import Extension, ExtensionHooks, ExtensionServer, ExtensionTLS
from crds.meta import NamespacedName, ObjectMeta
from crds.ratelimitfiltersettings import RateLimitFilterSettings
from crds.ratelimitservice import RateLimitService, Redis, RedisTLS
from crds.workloads import NetworkPublishing
from dag.configuration import reading

Command = Literal["run", "serve"]
"""The command that reads the file: on one machine, or in a cluster."""

NAME = "extension"
"""The name of an extension without a name."""

_MOST_ATTEMPTS = 11
_LEVELS: Mapping[str, str] = {"warn": "warning"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """Settings that a process cannot change while it runs."""

    provider: str = ""
    """The provider as it is written; empty: the command's own."""
    paths: tuple[Path, ...] = ()
    """Manifests that are served."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The settings of a file."""

    configuration: ContourConfiguration
    fixed: Fixed
    log_level: str | None
    """A level of the standard library, in lower case; None: that of the command line."""


def translated(written: crd.EnvoyGateway, name: NamespacedName, command: Command) -> Translated:
    """The file as a ContourConfiguration of this name. Raises FaultError."""
    errors = [*_wrong(written), *_wrong_for(written, command)]
    configuration = ContourConfiguration(
        metadata=ObjectMeta(name=name.name, namespace=name.namespace),
        spec=_spec(written, name.namespace, command),
    )
    if not errors:
        errors += (_told(it.message, written) for it in reading.resolved(configuration)[1])
    if errors:
        raise FaultError("; ".join(errors))
    return Translated(configuration, _fixed(written.provider), _level(written.logging))


def _wrong(written: crd.EnvoyGateway) -> Iterator[str]:
    for component in (written.logging or crd.Logging()).level:
        if component != "default":
            yield f"logging.level.{component}: is not served; the level of all is that of default"
    for path, it in _managers(written):
        retry = it.service.retry or Retry()
        if retry.max_attempts > _MOST_ATTEMPTS:
            yield f"{path}.service.retry.maxAttempts: must be at most {_MOST_ATTEMPTS}"


def _wrong_for(written: crd.EnvoyGateway, command: Command) -> Iterator[str]:
    provider = written.provider
    if command == "serve":
        if provider is not None and provider.type != "Kubernetes":
            yield f"provider.type: {provider.type} is served by `contour run`"
        if written.rate_limit is not None and written.rate_limit.backend is None:
            yield "rateLimit.backend: is required"
        return
    if provider is not None and provider.type == "Kubernetes":
        yield "provider.type: Kubernetes is served by `contour serve`; write File"
    elif provider is not None and provider.custom is not None:
        yield from _wrong_for_a_machine(provider.custom)
    if written.admin is not None:
        yield "admin: `contour run` has no such pages; `contour config` asks it by a socket"


def _wrong_for_a_machine(custom: crd.CustomProvider) -> Iterator[str]:
    if custom.resource.type != "File":
        yield "provider.custom.resource.type: Kubernetes needs `contour serve`; write File"
    if custom.infrastructure is None:
        yield "provider.custom.infrastructure: is required"


def _fixed(provider: crd.Provider | None) -> Fixed:
    if provider is None:
        return Fixed()
    custom = provider.custom
    infrastructure = custom.infrastructure.type if custom and custom.infrastructure else ""
    file = custom.resource.file if custom else provider.file
    paths = tuple(map(Path, file.paths)) if file else ()
    return Fixed(" ".join(filter(None, (provider.type, infrastructure))), paths)


def _level(logging: crd.Logging | None) -> str | None:
    said = logging.level.get("default") if logging is not None else None
    return _LEVELS.get(said, said) if said is not None else None


def _spec(written: crd.EnvoyGateway, namespace: str, command: Command) -> ContourConfigurationSpec:
    gateway = written.gateway or crd.GatewaySettings()
    admin = written.admin
    debug = (admin.address or crd.AdminAddress()) if admin is not None else None
    in_front = NetworkPublishing(type="LoadBalancerService") if command == "serve" else None
    return ContourConfigurationSpec(
        gateway=GatewaySettings(
            controller_name=gateway.controller_name,
            mode="PerGateway",
            only=True,
            envoy_patch_policies=PatchPolicySettings() if _patches(written) else None,
        ),
        envoy=Envoy(network_publishing=in_front),
        enable_backend=bool((written.extension_apis or crd.ExtensionApis()).enable_backend),
        debug=DebugEndpoint(address=debug.host, port=debug.port) if debug is not None else None,
        rate_limit_filters=_limits(written.rate_limit, command) if written.rate_limit else None,
        extensions=tuple(_extension(it, namespace) for _, it in _managers(written)),
    )


def _patches(written: crd.EnvoyGateway) -> bool:
    """Whether EnvoyPatchPolicies are served."""
    apis = written.extension_apis
    return apis is not None and apis.enable_envoy_patch_policy is True


def _limits(written: crd.RateLimit, command: Command) -> RateLimitFilterSettings:
    """Who counts requests: in a cluster pods, on one machine a process beside Envoy."""
    redis = written.backend.redis if written.backend is not None else None
    tls = RedisTLS() if redis is not None and redis.tls is not None else None
    return RateLimitFilterSettings(
        fail_closed=written.fail_closed,
        redis=Redis(address=redis.url, tls=tls) if redis is not None else None,
        service=RateLimitService() if command == "serve" else None,
    )


def _managers(written: crd.EnvoyGateway) -> Iterator[tuple[str, ExtensionManager]]:
    """The extensions in their order, each with the path of its field."""
    if written.extension is not None:
        yield "extension", written.extension
    if written.extension_manager is not None:
        yield "extensionManager", written.extension_manager
    for index, it in enumerate(written.extension_managers):
        yield f"extensionManagers[{index}]", it


def _extension(written: ExtensionManager, namespace: str) -> Extension:
    hooks, service = written.hooks.xds_translator or written.hooks, written.service
    return Extension(
        name=written.name or NAME,
        resources=written.resources,
        hooks=ExtensionHooks(pre=hooks.pre, post=hooks.post),
        service=_server(service, namespace),
        retries=min((service.retry or Retry()).max_attempts, _MOST_ATTEMPTS) - 1,
        fail_open=written.fail_open,
    )


def _server(written: ExtensionService, namespace: str) -> ExtensionServer:
    host, port = written.host, written.port
    if written.fqdn is not None:
        host, port = written.fqdn.hostname, written.fqdn.port
    if written.ip is not None:
        host, port = written.ip.address, written.ip.port
    unix, tls = written.unix.path if written.unix else None, written.tls
    shown = tls.client_certificate_ref if tls is not None else None
    return ExtensionServer(
        host=host,
        port=port,
        unix=unix,
        tls=ExtensionTLS(
            certificate_ref=_secret(tls.certificate_ref, namespace),
            client_certificate_ref=_secret(shown, namespace) if shown is not None else None,
        )
        if tls is not None
        else None,
    )


def _secret(written: CertificateRef, namespace: str) -> ObjectName:
    return ObjectName(namespace=written.namespace or namespace, name=written.name)


def _told(message: str, written: crd.EnvoyGateway) -> str:
    """A message about our configuration, with the path of the field in the file."""
    for index, (path, it) in enumerate(_managers(written)):
        own = f"spec.extensions[{index}]"
        if message.startswith(own):
            rest, hooks = message.removeprefix(own), it.hooks.xds_translator
            nested = "hooks.xdsTranslator" if hooks is not None else "hooks"
            return path + rest.replace(".hooks.", f".{nested}.", 1)
    for own, path in _PATHS.items():
        if message.startswith(f"{own}: "):
            return path + message.removeprefix(own)
    return message


_PATHS = {
    "spec.debug.address": "admin.address.host",
    "spec.gateway.controllerName": "gateway.controllerName",
    "spec.rateLimitFilters.redis.address": "rateLimit.backend.redis.url",
}
"""The fields of the file for those of our configuration."""
