"""Requests that go to backends: clusters and weights, timeouts, retries, rewrites.

A share of the traffic without a backend is answered 500 (Gateway API, HTTPBackendRef): it goes to a
cluster that does not exist, and the route says what that means. All of it without one is a direct
response, decided in `routes`. Header policies of a backend apply before those of the route, so the
route's win (as in Contour).
"""

from collections.abc import Iterable, Mapping, Sequence

from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import encoding, headers, paths
from dag import nodes

ClusterNames = Mapping[nodes.Cluster, str]

NOWHERE = "no-backend"
"""The cluster that does not exist. Names of real ones contain slashes."""

_MOST_WEIGHT = 2**32 - 1


def write_forward(
    target: pb.RouteAction, node: nodes.Forward, path: nodes.Path, names: ClusterNames
) -> None:
    """Fills in where a request goes and what happens to it on the way."""
    _write_clusters(target, [it for it in node.backends if it.weight], names)
    if node.timeout is not None:
        target.timeout.CopyFrom(encoding.seconds(node.timeout))
    if node.idle_timeout is not None:
        target.idle_timeout.CopyFrom(encoding.seconds(node.idle_timeout))
    if node.rewrite is not None:
        _write_rewrite(target, node.rewrite, path)
    if node.retry is not None:
        _write_retry(target.retry_policy, node.retry)
    if node.websockets:
        target.upgrade_configs.add(upgrade_type="websocket")


def _write_clusters(
    target: pb.RouteAction, backends: Sequence[nodes.Backend], names: ClusterNames
) -> None:
    if len(backends) == 1 and not _changes_headers(backends[0]):
        target.cluster = _name(backends[0], names)
        return
    weights = _weights(backends)
    for backend, weight in zip(backends, weights, strict=True):
        share = target.weighted_clusters.clusters.add(name=_name(backend, names))
        share.weight.value = weight
        headers.write_policies(share, backend.request_headers, backend.response_headers)
    if any(it.cluster is None for it in backends):
        target.cluster_not_found_response_code = pb.RouteAction.INTERNAL_SERVER_ERROR


def _changes_headers(backend: nodes.Backend) -> bool:
    return backend.request_headers is not None or backend.response_headers is not None


def _name(backend: nodes.Backend, names: ClusterNames) -> str:
    return NOWHERE if backend.cluster is None else names[backend.cluster]


def _weights(backends: Iterable[nodes.Backend]) -> Sequence[int]:
    """The shares; Envoy refuses a sum over 32 bits, so such are scaled down."""
    given = [it.weight for it in backends]
    total = sum(given)
    if total <= _MOST_WEIGHT:
        return given
    return [max(1, it * (_MOST_WEIGHT - len(given)) // total) for it in given]


def _write_rewrite(target: pb.RouteAction, rewrite: nodes.Rewrite, path: nodes.Path) -> None:
    if rewrite.host:
        target.host_rewrite_literal = rewrite.host
    if rewrite.full_path is not None:
        paths.write_whole(target, rewrite.full_path)
    elif rewrite.prefix is not None:
        paths.write_prefix(target, path, rewrite.prefix)


def _write_retry(target: pb.RetryPolicy, retry: nodes.Retry) -> None:
    target.retry_on = ",".join(retry.on)
    target.num_retries.value = retry.attempts
    if retry.per_try_timeout is not None:
        target.per_try_timeout.CopyFrom(encoding.seconds(retry.per_try_timeout))
    target.retriable_status_codes.extend(retry.status_codes)
