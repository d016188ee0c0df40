"""What a ClientTrafficPolicy makes of a request before it is routed, over what the settings say."""

from collections.abc import Sequence

from crds.records import replace
from dag import nodes
from dag.configuration.reading import Settings
from dag.evaluation import matching
from dag.evaluation.requests import Request
from dag.evaluation.trace import MARK, Answer


def overlaid(settings: Settings, traffic: nodes.ClientTraffic) -> Settings:
    """The settings, with those of a ClientTrafficPolicy over them."""
    edge = replace(
        settings.edge,
        underscores=traffic.underscores or settings.edge.underscores,
        escaped_slashes=traffic.escaped_slashes or settings.edge.escaped_slashes,
    )
    merges, strips = traffic.merge_slashes, traffic.strip_host_dot
    return replace(
        settings,
        edge=edge,
        merge_slashes=settings.merge_slashes if merges is None else merges,
        strip_trailing_host_dot=settings.strip_trailing_host_dot if strips is None else strips,
    )


def without_upgrades(request: Request, ignored: Sequence[nodes.ValueMatch]) -> Request:
    """The request without what it says of protocols to which no client switches."""
    if not request.upgrade or not ignored:
        return request
    asked = (it.strip(" \t") for it in request.upgrade.split(","))
    kept = [it for it in asked if not any(matching.is_value(match, it) for match in ignored)]
    others = tuple(it for it in request.headers if it[0] != "upgrade")
    added = (("upgrade", ",".join(kept)),) if kept else ()
    return replace(request, headers=others + added)


def changed(request: Request, changes: nodes.HeaderChanges) -> Request:
    """The request with the headers that a ClientTrafficPolicy changes before it is routed."""
    names = [name for name, _ in changes.set]
    found = [it for it in request.headers if it[0] not in names]
    found += [*changes.set, *changes.add]
    found += [it for it in changes.add_if_absent if it[0] not in dict(found)]
    kept = (it for it in found if not _is_removed(it[0], changes))
    return replace(request, headers=tuple(kept))


def hides_backends(traffic: nodes.ClientTraffic, found: Answer) -> bool:
    """Whether an answer of a backend cannot be told from one of Envoy by its headers."""
    if not found.backends:
        return False
    late = traffic.answers
    if traffic.envoy_headers is False or (late is not None and _is_removed(MARK, late)):
        return True
    changes = (found.response_headers, *(it.response_headers for it in found.backends))
    return any(MARK in dict(it) for it in changes)


def _is_removed(name: str, changes: nodes.HeaderChanges) -> bool:
    return name in changes.remove or any(
        matching.is_value(it, name) for it in changes.remove_matching
    )
