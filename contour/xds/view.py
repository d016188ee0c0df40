"""What each connected Envoy has, has refused and waits for; `contour config` shows it.

It is plain data, made on request. It contains no bytes of a resource, and so no key of a secret.
"""

from collections.abc import Callable

from contour.xds.envoy import Envoy
from contour.xds.fleet import Fleet
from contour.xds.resources import RANK
from contour.xds.state import Override
from contour.xds.subscription import Subscription


def fleet(of: Fleet) -> dict[str, object]:
    """One fleet: its Envoys, and the parts in quarantine for all of them."""
    return {
        "fleet": of.name,
        "envoys": [_envoy(it) for it in sorted(of.envoys, key=lambda it: it.id)],
        "counts": {f"{what} {type_url}": count for (what, type_url), count in of.counts.items()},
        "quarantine": [
            {"type": name.type_url, "name": name.name, "part": part, "refusal": refusal.words}
            for name, part, refusal in of.quarantine
        ],
    }


def _envoy(of: Envoy) -> dict[str, object]:
    types = sorted(of.subscriptions, key=lambda it: (RANK.get(it, len(RANK)), it))
    return {
        "id": of.id,
        "types": [_subscription(it) for type_url in types for it in of.subscriptions[type_url]],
    }


def _subscription(of: Subscription) -> dict[str, object]:
    return {
        "type": of.type_url,
        "subscribed": "*" if of.is_wildcard else sorted(of.names),
        "versions": {name: _version(of, name) for name in _names(of)},
        "unsent": sorted(of.dirty),
        "unanswered": sorted({name for it in of.in_flight for name in it.before}),
        "waiting": _overridden(of, lambda it: [str(need.name) for need in sorted(it.awaits)]),
        "refused": _refused(of),
        "malformed": dict(sorted(of.malformed.items())),
        "leaving": sorted(of.removing),
    }


def _refused(of: Subscription) -> dict[str, dict[str, object]]:
    """By resource and part; a client that is served by name refuses whole ones, part `""`."""
    found = _overridden(of, lambda it: it.refusal)
    return {**found, **{name: {"": words} for name, words in sorted(of.declined.items())}}


def _names(of: Subscription) -> list[str]:
    served = (*of.published, *of.removing) if of.is_wildcard else of.names
    return sorted(set(served))


def _version(of: Subscription, name: str) -> str | None:
    """The version that the Envoy has acknowledged; None unless it is the one it should have."""
    resource = of.served(name)
    if resource is None or not of.is_acknowledged(name):
        return None
    return resource.version(of.overridden_parts(name))


def _overridden(
    of: Subscription, said: Callable[[Override], object]
) -> dict[str, dict[str, object]]:
    """What `said` returns for each override, by resource and part; empty values are left out."""
    found: dict[str, dict[str, object]] = {}
    for name, parts in sorted(of.overrides.items()):
        for part, override in sorted(parts.items()):
            if said(override):
                found.setdefault(name, {})[part] = said(override)
    return found
