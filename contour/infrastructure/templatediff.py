"""Which settings differ between two pod templates of a fleet, to find the cause of a failure.

The bootstrap is an environment variable of the container that writes it; arguments that depend on
it do not count as differences. Templates of the API server have more fields than ours.
"""

from collections.abc import Iterator

from crds import raw
from crds.raw import Raw, at, is_list, is_mapping, mapping
from dag.fleets import Concern
from provisioning import commands

_OF_BOOTSTRAPS = ("--custom=", "--admin-address=")
"""Arguments of containers beside Envoy that depend on the bootstrap."""


def changed_setting(before: Raw, after: Raw) -> Concern:
    """The setting in which our template differs from the former one; `all` if there are several."""
    is_bootstrap = _bootstrap(before) != _bootstrap(after)
    is_rest = not _has(_without_bootstrap(before), _without_bootstrap(after))
    if is_bootstrap:
        return "all" if is_rest else "bootstrap"
    return "workload"


def _bootstrap(template: Raw) -> str:
    variables = (it for one in _containers(template) for it in _variables(one))
    return next((str(it.get("value")) for it in variables if _is_bootstrap(it)), "")


def _without_bootstrap(template: Raw) -> list[Raw]:
    """The containers, without the settings of the bootstrap."""
    return [
        {
            **container,
            "env": [it for it in _variables(container) if not _is_bootstrap(it)],
            "args": [
                it
                for it in map(str, raw.items(container.get("args")))
                if not it.startswith(_OF_BOOTSTRAPS)
            ],
        }
        for container in _containers(template)
    ]


def _containers(template: Raw) -> Iterator[Raw]:
    for part in ("initContainers", "containers"):
        yield from map(mapping, raw.items(at(template, "spec", part)))


def _variables(container: Raw) -> list[Raw]:
    return [*map(mapping, raw.items(container.get("env")))]


def _is_bootstrap(variable: Raw) -> bool:
    return variable.get("name") == commands.BOOTSTRAP


def _has(found: object, wanted: object) -> bool:
    """Whether all wanted fields are present; there may be more."""
    if is_mapping(wanted):
        return is_mapping(found) and all(_has(found.get(it), wanted[it]) for it in wanted)
    if is_list(wanted) and is_list(found):
        return len(wanted) == len(found) and all(map(_has, found, wanted))
    return found == wanted or (not found and not wanted)
