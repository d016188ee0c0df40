"""What is served refers only to what is served."""

from collections.abc import Iterator
from typing import Any

from contour.envoy import forwarding


def require_there(shown: Any, where: str) -> int:
    """Every name of another resource leads to one; how many names there are."""
    there, checked = _names(shown), 0
    for kind, name in _references(shown):
        if name != forwarding.NOWHERE:
            assert name in there[kind], f"{where}: no {kind} {name!r}"
            checked += 1
    return checked


def _names(shown: Any) -> dict[str, set[str]]:
    """The names of everything that is served, by kind."""
    return {kind: {_name(it) for it in shown[kind]} for kind in shown}


def _name(shown: dict[str, Any]) -> str:
    name = shown.get("cluster_name") or shown["name"]
    assert isinstance(name, str)
    return name


def _references(shown: Any) -> Iterator[tuple[str, str]]:
    """Every name of another resource, wherever it is in what is served."""
    if isinstance(shown, list):
        for it in shown:
            yield from _references(it)
    if not isinstance(shown, dict):
        return
    match shown:
        case {"cluster": str(name)} | {"name": str(name), "weight": _}:
            yield "clusters", name
        case {"sds_config": _, "name": str(name)}:
            yield "secrets", name
        case {"rds": {"route_config_name": str(name)}} | {"route_configuration_name": str(name)}:
            yield "routes", name
        case {"type": "EDS", "name": str(cluster)}:
            yield "endpoints", shown["eds_cluster_config"].get("service_name", cluster)
    for it in shown.values():
        yield from _references(it)
