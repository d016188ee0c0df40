"""Envoy's runtime settings: keys that users set, and limits that are runtime keys.

Envoy applies these while it serves, without a new listener. Source: Contour's configuration
reference, "EnvoyConfig" (`runtimeSettings`) and "EnvoyListenerConfig". Elsewhere: keys that protect
Envoy itself are in its bootstrap, and override these.
"""

from typing import NamedTuple

from crds.envoysettings import Envoy, ListenerSettings
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place

RESERVED = "re2.max_program_size."
"""The prefix of keys that users may not set: rules refuse expressions by Envoy's limit."""

MAX_KEY = 253


class Runtime(NamedTuple):
    """The runtime settings of every fleet."""

    values: tuple[tuple[str, str], ...] = ()
    """Keys of users, sorted; the limits below override them."""
    requests_per_cycle: int | None = None
    connections_per_listener: int | None = None


def runtime(spec: Place, envoy: Envoy) -> Findings[Runtime]:
    """The runtime settings of the configuration; forbidden keys are reported and left out."""
    given = envoy.listener or ListenerSettings()
    values: list[tuple[str, str]] = []
    for key, value in sorted(envoy.runtime_settings.items()):
        if refusal := _refusal(key):
            place = spec.at("envoy").at("runtimeSettings").item(key[:60])
            yield problems.invalid_value(place, refusal)
        else:
            values.append((key, value))
    return Runtime(
        tuple(values), given.max_requests_per_io_cycle, given.max_connections_per_listener
    )


def _refusal(key: str) -> str | None:
    if not key or len(key) > MAX_KEY or not key.isprintable():
        return f"a key has from 1 to {MAX_KEY} printable characters"
    return "is decided by Contour" if key.startswith(RESERVED) else None
