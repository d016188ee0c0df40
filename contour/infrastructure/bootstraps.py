"""Checks whether the Envoys of a fleet may be started with a custom bootstrap.

It is compared with the bootstrap that the pods of the fleet will render, before anything is
changed; the pods do the same when they start (`contour bootstrap --custom`). Envoy does not
validate it here, so that foreign configuration is not loaded in the control plane's pod.
"""

from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from contour import bootstrap, custombootstrap
from crds.custombootstrap import CustomBootstrap
from provisioning.installation import Fleet, Port

LONGEST = 100_000
"""The number of characters that fit into a variable of a container's environment, which Linux
limits to 128 KiB."""

_ADMIN = "/admin/admin.sock"
_SHUTDOWN_MANAGER = 8090


class Judged(NamedTuple):
    """The result of the check."""

    admin: str = _ADMIN
    """Where the administration interface will be."""
    refusal: str = ""
    """Why it must not be used; empty if it may."""


def judged(fleet: Fleet, custom: CustomBootstrap | None) -> Judged:
    """Checks a custom bootstrap, if there is one."""
    return Judged() if custom is None else _judged(settings(fleet), custom, fleet.ports)


@lru_cache(maxsize=256)
def _judged(given: bootstrap.Settings, custom: CustomBootstrap, ports: tuple[Port, ...]) -> Judged:
    size = len(custombootstrap.as_text(custom))
    if size > LONGEST:
        text = f"has {size:,} characters; at most {LONGEST:,} are allowed in a cluster"
        return Judged(refusal=text)
    taken = {it.container: f"port {it.name}" for it in ports if it.protocol == "TCP"}
    try:
        found = custombootstrap.applied(
            custom, given, {**taken, _SHUTDOWN_MANAGER: "the shutdown manager"}
        )
    except custombootstrap.RefusedBootstrapError as refused:
        return Judged(refusal=str(refused))
    return Judged(str(found.admin)) if found.admin else Judged()


def settings(fleet: Fleet) -> bootstrap.Settings:
    """The settings of the fleet's pods, as in `provisioning.commands.bootstrap`, except for the
    pod's name and limits."""
    return bootstrap.Settings(
        node="$(POD_NAME)",
        fleet=fleet.name,
        control_plane=bootstrap.SocketAddress(
            fleet.control_plane or fleet.place.named("contour"), 8001
        ),
        credentials=bootstrap.Credentials(
            certificate=PurePosixPath("/certs/tls.crt"),
            key=PurePosixPath("/certs/tls.key"),
            authority=PurePosixPath("/certs/ca.crt"),
            server_name="contour",
            secrets=PurePosixPath("/config/resources"),
        ),
        admin=PurePosixPath(_ADMIN),
        monitoring=bootstrap.SocketAddress("0.0.0.0", 8002),
        hides_stats=fleet.hides_stats,
    )
