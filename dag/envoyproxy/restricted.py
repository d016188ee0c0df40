"""Whether what a user says of pods keeps within the *restricted* Pod Security level.

Source: Kubernetes, "Pod Security Standards", restricted, which contains baseline. A field that is
not known here is refused: a later one might open something. Each problem is reported with its path.
"""

from collections.abc import Callable, Iterator, Mapping

from crds import raw
from crds.raw import Raw
from dag.problems import Problem
from dag.problems import envoyproxy as problems
from dag.problems.places import Place

_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)

_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_SELINUX_TYPES = (
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

Findings = Iterator[Problem]
_Check = Callable[[Place, object], Findings]


def pod(at: Place, context: Raw) -> Findings:
    """The security context of pods."""
    yield from _fields(at, context, _OF_PODS)


def container(at: Place, context: Raw) -> Findings:
    """The security context of a container."""
    yield from _fields(at, context, _OF_CONTAINERS)


def volume(at: Place, found: Raw) -> Findings:
    """A volume: its type is the only field beside its name."""
    for kind in sorted(found.keys() - {"name"}):
        if kind not in _VOLUMES:
            yield problems.not_restricted(at.at(kind), f"use one of {', '.join(sorted(_VOLUMES))}")


def annotations(at: Place, found: Mapping[str, str]) -> Findings:
    """Annotations of pods, some of which were security settings once."""
    for key, value in found.items():
        if not is_restricted(key, value):
            yield problems.not_restricted(at.item(key), "use runtime/default or localhost/…")


def is_restricted(key: str, value: str) -> bool:
    """Whether pods with this annotation keep within the level."""
    is_profile = value in ("", "runtime/default") or value.startswith("localhost/")
    return is_profile or not key.startswith(_APPARMOR)


def _fields(at: Place, context: Raw, checks: Mapping[str, _Check]) -> Findings:
    for name, value in context.items():
        check = checks.get(name)
        if check is None:
            yield problems.not_restricted(at.at(name), "the field is not known")
        else:
            yield from check(at.at(name), value)


def _must_be(*allowed: object) -> _Check:
    words = " or ".join("true" if it is True else "false" if it is False else str(it or "nothing")
                        for it in allowed)  # fmt: skip

    def check(at: Place, value: object) -> Findings:
        if not any(value == it and type(value) is type(it) for it in allowed):
            yield problems.not_restricted(at, f"must be {words}")

    return check


def _anything(at: Place, value: object) -> Findings:
    return iter(())


def _user(at: Place, value: object) -> Findings:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        yield problems.not_restricted(at, "must be another user than root")


def _profile(at: Place, value: object) -> Findings:
    yield from _must_be("RuntimeDefault", "Localhost")(at.at("type"), raw.at(value, "type"))


def _selinux(at: Place, value: object) -> Findings:
    found = raw.mapping(value)
    yield from _must_be(*_SELINUX_TYPES)(at.at("type"), found.get("type", ""))
    for name in ("user", "role"):
        yield from _must_be("")(at.at(name), found.get(name, ""))


def _sysctls(at: Place, value: object) -> Findings:
    for index, it in enumerate(raw.items(value)):
        if raw.at(it, "name") not in _SYSCTLS:
            yield problems.not_restricted(at.item(index).at("name"), "is not a safe sysctl")


def _capabilities(at: Place, value: object) -> Findings:
    found = raw.mapping(value)
    for index, it in enumerate(raw.items(found.get("add"))):
        yield from _must_be("NET_BIND_SERVICE")(at.at("add", index), it)
    if "drop" in found and "ALL" not in raw.items(found["drop"]):
        yield problems.not_restricted(at.at("drop"), "must contain ALL")


def _windows(at: Place, value: object) -> Findings:
    yield problems.not_restricted(at, "Envoy runs on Linux")


_OF_BOTH: Mapping[str, _Check] = {
    "runAsNonRoot": _must_be(True),
    "runAsUser": _user,
    "runAsGroup": _anything,
    "seccompProfile": _profile,
    "appArmorProfile": _profile,
    "seLinuxOptions": _selinux,
    "windowsOptions": _windows,
}
_OF_PODS: Mapping[str, _Check] = {
    **_OF_BOTH,
    "fsGroup": _anything,
    "fsGroupChangePolicy": _anything,
    "supplementalGroups": _anything,
    "supplementalGroupsPolicy": _anything,
    "seLinuxChangePolicy": _anything,
    "sysctls": _sysctls,
}
_OF_CONTAINERS: Mapping[str, _Check] = {
    **_OF_BOTH,
    "allowPrivilegeEscalation": _must_be(False),
    "privileged": _must_be(False),
    "procMount": _must_be("Default"),
    "readOnlyRootFilesystem": _anything,
    "capabilities": _capabilities,
}
