"""Makes a listener and its filter chains from the template that extensions answered.

A template is a listener with one filter chain, which has what all its HTTP chains have in common.
What differs from chain to chain is ours and is not in the template: the source of routes, the
scripts that find and check them, the filters of a Gateway's listeners, and what backends are told
of client certificates. It is added to each chain. Elsewhere: the question, and what an answer may
say (`contour.envoy.hooks`).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from envoy.config.listener.v3 import listener_components_pb2
from envoy.config.listener.v3 import listener_pb2 as pb
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.envoy import clienttraffic, encoding, filters, scripts
from contour.envoy.policy import Downstream

Manager: TypeAlias = hcm_pb2.HttpConnectionManager

CONNECTION_MANAGER = "envoy.filters.network.http_connection_manager"
SCRIPTS = (scripts.CERTIFICATE, scripts.TABLE, scripts.ADMISSION)
"""Filters that come before all others; they name the listener and the terms of a chain."""


def _is_of_chain(name: str) -> bool:
    """Whether a filter is one that extensions do not see."""
    return name in SCRIPTS or name.startswith(filters.OF_LISTENERS)


class Template(NamedTuple):
    """A decoded template. Its messages are shared: copy them before changing them."""

    listener: pb.Listener
    """Without filter chains."""
    filters: Sequence[listener_components_pb2.Filter]
    """Network filters before the connection manager."""
    manager: Manager


@lru_cache(maxsize=64)
def read(body: bytes) -> Template:
    """Decodes a template. The last filter of its only chain is the connection manager."""
    listener = pb.Listener.FromString(body)
    *filters, last = listener.filter_chains[0].filters
    manager = manager_of(last)
    del listener.filter_chains[:]
    return Template(listener, tuple(filters), manager)


def manager_of(found: listener_components_pb2.Filter) -> Manager:
    """The connection manager that a filter is. Raises DecodeError if it is none."""
    return Manager.FromString(found.typed_config.value)


def write_head(target: pb.Listener, answer: bytes | None) -> None:
    """Replaces the listener by that of the answer, but for its filter chains."""
    if answer is None:
        return
    chains = list(target.filter_chains)
    target.CopyFrom(read(answer).listener)
    target.filter_chains.extend(chains)


def write_filters(
    target: listener_components_pb2.FilterChain, ours: Manager, policy: Downstream
) -> None:
    """Adds the filters of an HTTP chain: those of the answer, and the connection manager with the
    settings of the listener's policy for clients."""
    answer, traffic = policy.answer, policy.traffic
    if traffic is not None:
        clienttraffic.write_limit(target, ours.stat_prefix, traffic.connections)
    if answer is not None:
        target.filters.extend(read(answer).filters)
        ours = _completed(read(answer).manager, ours)
    if traffic is not None:
        clienttraffic.write_manager(ours, traffic)
    added = target.filters.add(name=CONNECTION_MANAGER)
    added.typed_config.CopyFrom(encoding.packed(ours))


def _completed(found: Manager, ours: Manager) -> Manager:
    """The connection manager of the answer with our own configuration. Our filters were not
    changed."""
    result = Manager()
    result.CopyFrom(found)
    if ours.HasField("scoped_routes"):
        result.scoped_routes.CopyFrom(ours.scoped_routes)
    else:
        result.rds.CopyFrom(ours.rds)
    del result.http_filters[:]
    result.http_filters.extend(it for it in ours.http_filters if _is_of_chain(it.name))
    result.http_filters.extend(found.http_filters)
    # The last mutation wins: ours sets the header by which tables are found.
    result.early_header_mutation_extensions.extend(ours.early_header_mutation_extensions)
    if ours.HasField("set_current_client_cert_details"):
        result.forward_client_cert_details = ours.forward_client_cert_details
        details = result.set_current_client_cert_details
        details.CopyFrom(ours.set_current_client_cert_details)
    return result
