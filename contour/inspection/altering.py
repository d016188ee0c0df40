"""How extensions and patches have changed the configuration for a request.

For the listener, the virtual host and the clusters of a request, it lists the changes as JSON
pointers with the values before and after, and who has made them.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import jsonpatch
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from google.protobuf.message import Message

from contour.envoy import listening, routing, shaping
from contour.envoy.hooks import passed, questions, templates
from contour.envoy.hooks.questions import TemplateKey
from contour.envoy.patches import documents
from contour.envoy.patches.applying import Patched
from crds.meta import ObjectRef
from dag import nodes
from dag.configuration import settings
from dag.engine.incremental import Engine
from dag.evaluation.trace import Step, Topic, Trace
from dag.patches import policies
from dag.patches.naming import PatchPlace
from dag.problems.patches import KIND

_MOST = 10
"""Differences that are listed for one change; the others are only counted."""
_LONGEST = 160
"""Characters of a value that are shown."""


class Stage(NamedTuple):
    """A resource at one stage, and who changed it last."""

    body: bytes
    by: ObjectRef | str = ""
    """A policy, or the names of extensions; empty: not changed."""


def steps(engine: Engine, trace: Trace) -> Iterator[Step]:
    """A step for each change of the resources that the request of a trace meets."""
    if (at := trace.listener) is None:
        return
    yield from _told(
        "listener", f"listener {at.name}", listener_pb2.Listener, _listener(engine, at)
    )
    if (host := trace.host) is not None:
        key = nodes.HostKey(at.fleet, at.name, host)
        made = route_components_pb2.VirtualHost
        yield from _told("host", f"host {host}", made, _extended_host(engine, key))
        yield from _told("host", f"host {host}", _table, _patched_host(engine, key))
    used = (*trace.answer.backends, *trace.answer.streams)
    for it in dict.fromkeys(share.cluster for share in used if share.cluster is not None):
        found = tuple(_cluster(engine, routing.ClusterKey(at.fleet, it)))
        where = f"cluster {it.port.service}/{it.port.port}"
        yield from _told("action", where, cluster_pb2.Cluster, found)


def _table() -> route_pb2.RouteConfiguration:
    return route_pb2.RouteConfiguration()


def _told(
    topic: Topic, where: str, empty: Callable[[], Message], stages: Iterable[Stage]
) -> Iterator[Step]:
    for before, after in pairwise(stages):
        found = list(differences(empty, before.body, after.body))
        if not found:
            continue
        who = after.by if isinstance(after.by, str) else str(after.by)
        more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
        words = f"{who} changes the {where}: {'; '.join((*found[:_MOST], *more))}"
        yield Step(topic, "noted", words, after.by if isinstance(after.by, ObjectRef) else None)


def differences(empty: Callable[[], Message], before: bytes, after: bytes) -> Iterator[str]:
    """Each place that differs, with the values before and after."""
    one, other = _document(empty, before), _document(empty, after)
    for it in jsonpatch.make_patch(one, other):
        pointer = str(it["path"])
        was = _value(one, str(it.get("from", pointer)))
        now = "nothing" if it["op"] == "remove" else _value(other, pointer)
        yield f"{_shown(pointer)}: {'nothing' if it['op'] == 'add' else was} → {now}"


_TABLE = "/virtual_hosts/0"


def _shown(pointer: str) -> str:
    """The path as a patch would write it: within the virtual host."""
    return pointer.removeprefix(_TABLE)


def _document(empty: Callable[[], Message], body: bytes) -> object:
    message = empty()
    message.ParseFromString(body)
    try:
        return documents.written(message)
    except documents.UnreadableError as error:
        return {"unreadable": str(error)}


def _value(document: object, pointer: str) -> str:
    try:
        found = jsonpatch.JsonPointer(pointer).resolve(document)
    except jsonpatch.JsonPointerException:
        return "something"  # lists are compared by entry, and indexes may have moved
    text = json.dumps(found, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _layers(found: Patched | None) -> Iterator[Stage]:
    if found is not None and found.layers:
        yield Stage(found.plain)
        yield from (Stage(it.body, ObjectRef(KIND, *it.policy)) for it in found.layers)


def _listener(engine: Engine, at: nodes.ListenerKey) -> Iterator[Stage]:
    key = TemplateKey(*at)
    shaped = engine.answer(questions.shaped_listener, key)
    good = shaped.served if shaped is not None else None
    if good is not None and good.policy.answer is not None:
        yield Stage(templates.template(good.node, good.policy, is_quic=False))
        yield Stage(good.policy.answer, _names(engine, "HTTPListener"))
    if _at(engine, PatchPlace(at.fleet, "listener", at.name)):
        yield from _layers(engine.answer(listening.patched_listener, key))


def _extended_host(engine: Engine, key: nodes.HostKey) -> Iterator[Stage]:
    shaped = engine.answer(questions.shaped, key)
    good = shaped.served if shaped is not None else None
    plain = engine.answer(shaping.stripped, key)
    if good is not None and good.body is not None and plain is not None:
        yield Stage(plain.body)
        yield Stage(good.body, _names(engine, "VirtualHost", "Route"))


def _patched_host(engine: Engine, key: nodes.HostKey) -> Iterator[Stage]:
    if _at(engine, PatchPlace(key.fleet, "host", key.listener, key.host)):
        yield from _layers(engine.answer(routing.patched_host, key))


def _cluster(engine: Engine, key: routing.ClusterKey) -> Iterator[Stage]:
    wanted = engine.answer(routing.wanted_cluster, key)
    if wanted is not None and wanted.value is not None:
        row = engine.row(passed.CLUSTERS, passed.Item(key.fleet, wanted.name.name))
        if row is not None and row.body is not None:
            yield Stage(wanted.value.body)
            yield Stage(row.body, _names(engine, "Translation"))
    yield from _layers(engine.answer(routing.patched_cluster, key))


def _names(engine: Engine, *hooks: nodes.Hook) -> str:
    """The extensions that have one of these hooks."""
    found = engine.answer(settings.hook_servers, ()) or ()
    return f"extension {', '.join(it.name for it in found if it.hooks & set(hooks))}"


def _at(engine: Engine, place: PatchPlace) -> bool:
    return bool(engine.bucket(policies.PATCHES, place))
