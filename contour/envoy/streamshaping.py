"""The tracked query for streams about whose clusters extensions are asked.

A stream to a cluster about which extensions have not answered keeps the destination that it had
when they last had answered. One without a last good state is routed to the new cluster, which does
not exist yet, so that its connections are closed until there is an answer.
"""

from collections.abc import Iterable
from typing import NamedTuple

from contour.envoy import routing, streams, translating
from contour.envoy.hooks import questions
from contour.envoy.hooks.questions import GoodStream, ShapedStream, StreamKey
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes
from dag.engine.view import View


class _Wanted(NamedTuple):
    """A stream as the objects want it."""

    good: GoodStream
    targets: Iterable[nodes.AnyCluster]
    origins: tuple[ObjectRef, ...]


@questions.shaped_stream.answer
def shaped_stream(view: View, key: StreamKey) -> ShapedStream | None:
    """A stream as it is served."""
    found = _of_host(view, key) if key.host else _of_listener(view, key)
    if found is None:
        return None
    names = [it.name for it in routing.clusters_of(view, key.fleet, found.targets).values()]
    known = translating.Known(view, key.fleet, ())
    silent = translating.lacking(view, key.fleet, names, known, ())
    if silent is None:
        return ShapedStream(found.good, origins=found.origins)
    last = view.read(questions.GOOD_STREAMS, key)
    is_last = last is not None and last.is_terminated == found.good.is_terminated
    served = last if last is not None and is_last else found.good
    return ShapedStream(served, silent, False, is_last, found.origins)


def _of_host(view: View, key: StreamKey) -> _Wanted | None:
    secure = view.ask(hosts.secure_host, nodes.HostKey(key.fleet, key.listener, key.host))
    if secure is None or secure.stream is None:
        return None
    good = GoodStream(secure.stream, is_terminated=secure.tls is not None)
    return _Wanted(good, streams.clusters(secure.stream), secure.origins)


def _of_listener(view: View, key: StreamKey) -> _Wanted | None:
    node = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    if node is None or node.stream is None:
        return None
    return _Wanted(GoodStream(node.stream), streams.targets(node), node.origins)


PUBLISHED = (questions.shaped_stream,)
"""For the asker of extensions; Envoy gets what is made of it."""
