"""Fault injection and compression of a BackendTrafficPolicy.

Neither limits anything, so what cannot be served is left out, and reported. Source: Envoy Gateway
1.9.
"""

from collections.abc import Mapping
from typing import Literal

from crds.envoygateway import backendtrafficpolicy as crd
from crds.envoygateway import faultinjection as faults
from crds.envoygateway.compressors import Compressor
from dag import nodes
from dag.problems import shared
from dag.problems.places import Findings, Place
from dag.values import durations, quantities

_SHORTEST = 30
"""Bytes: Envoy compresses no shorter body."""
_MOST = 2**32 - 1
_MOST_STATUS = 599


def fault(found: faults.FaultInjection | None, own: Place) -> Findings[nodes.Fault | None]:
    """Delays and errors on purpose; None if there are none."""
    if found is None:
        return None
    at = own.at("faultInjection")
    delay, delayed = _delay(found.delay)
    abort = found.abort
    aborted = _of_a_million(abort.percentage) if abort is not None else 0
    if abort is not None and (abort.http_status or 0) > _MOST_STATUS:
        why = f"{abort.http_status} is more than {_MOST_STATUS}"
        yield shared.no_effect(at.at("abort").at("httpStatus"), why)
        aborted = 0
    if abort is None or not aborted:
        return nodes.Fault(delay, delayed) if delay is not None else None
    return nodes.Fault(
        delay,
        delayed if delay is not None else nodes.MILLION,
        abort.http_status,
        abort.grpc_status,
        aborted,
    )


def _delay(found: faults.FaultDelay | None) -> tuple[float | None, int]:
    """The delay in seconds, and how many requests of a million have it; None for no delay."""
    if found is None:
        return None, nodes.MILLION
    delay = min(durations.seconds(found.fixed_delay), durations.LONGEST)
    delayed = _of_a_million(found.percentage)
    return (delay, delayed) if delay and delayed else (None, nodes.MILLION)


def _of_a_million(percent: float) -> int:
    return round(min(max(percent, 0.0), 100.0) * nodes.MILLION / 100)


_ALGORITHMS: Mapping[str, Literal["gzip", "brotli", "zstd"]] = {
    "Gzip": "gzip",
    "Brotli": "brotli",
    "Zstd": "zstd",
}


def compressors(
    spec: crd.BackendTrafficPolicySpec, own: Place
) -> Findings[tuple[nodes.Compressor, ...] | None]:
    """The algorithms, the preferred one first; None if the policy names none."""
    field = "compressor" if spec.compressor else "compression"
    made: dict[str, nodes.Compressor] = {}
    for index, it in enumerate(spec.compressor or spec.compression):
        at = own.at(field, index)
        if it.type in made:
            why = f"an entry before it has {it.type}, too"
            yield shared.no_effect(at, why)
            continue
        shortest = yield from _shortest(it, at.at("minContentLength"))
        made[it.type] = nodes.Compressor(_ALGORITHMS[it.type], shortest)
    return tuple(made.values()) or None


def _shortest(found: Compressor, at: Place) -> Findings[int]:
    if found.min_content_length is None:
        return _SHORTEST
    if why := quantities.refusal(found.min_content_length, _SHORTEST, _MOST):
        yield shared.no_effect(at, why)
        return _SHORTEST
    return quantities.whole(found.min_content_length)
