"""Bootstraps as users may write them, made at random: harmless, wrong, and such as cut Envoy off.

Each is the usual bootstrap with a few changes, spelt as one of the three types. For the suite,
which starts a few of them, and for `hack/bootstraps`, which starts thousands.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jsonpatch

from contour import bootstrap
from crds.custombootstrap import CustomBootstrap, JsonPatch
from tests.testbed.ports import free_port

Json = dict[str, Any]
Change = Callable[[random.Random, Json], None]


class Generated(NamedTuple):
    """One of them."""

    changes: tuple[str, ...]
    """The names of what was changed."""
    is_protected: bool
    """One of the changes concerns what must stay."""
    custom: CustomBootstrap


def generated(settings: bootstrap.Settings, seed: int) -> Iterator[Generated]:
    """Without an end; the same for the same seed, apart from ports."""
    chance = random.Random(seed)
    usual = bootstrap.document(settings)
    while True:
        protected = chance.sample(sorted(PROTECTED), chance.choice((0, 0, 0, 1)))
        # What concerns a protected part is to be refused for that alone.
        others = chance.sample(sorted(ADDITIVE if protected else FREE), chance.randint(1, 3))
        names = [*others, *protected]
        document = copy.deepcopy(usual)
        for name in names:
            {**FREE, **PROTECTED}[name](chance, document)
        is_additive = not protected and all(it in ADDITIVE for it in names)
        custom = _spelt(chance, usual, document, names if is_additive else ())
        yield Generated(tuple(names), bool(protected), custom)


def _spelt(
    chance: random.Random, usual: Json, wanted: Json, additive: tuple[str, ...] | list[str]
) -> CustomBootstrap:
    patches = jsonpatch.make_patch(usual, wanted).patch
    match chance.choice(("Replace", "JSONPatch", "Merge")):
        case "JSONPatch" if patches:
            return CustomBootstrap(type="JSONPatch", json_patches=tuple(map(_operation, patches)))
        case "Merge" if additive:
            added = _added(usual, wanted)
            return CustomBootstrap(type="Merge", value=json.dumps(added))
        case _:
            if chance.random() < 0.5:
                wanted.pop("node", None)
            return CustomBootstrap(type="Replace", value=json.dumps(wanted))


def _operation(it: Json) -> JsonPatch:
    value = json.dumps(it["value"]) if "value" in it else None
    return JsonPatch(op=it["op"], path=it["path"], from_=it.get("from"), value=value)


def _added(usual: Any, wanted: Any) -> Any:
    """What, merged into the one, makes the other: new keys, other values, entries at the end."""
    if isinstance(usual, dict) and isinstance(wanted, dict):
        changed = {key for key, it in wanted.items() if usual.get(key) != it}
        return {key: _added(usual.get(key), wanted[key]) for key in changed}
    if isinstance(usual, list):
        return wanted[len(usual) :]
    return wanted


def _cluster(chance: random.Random, document: Json) -> None:
    cluster: Json = {"name": f"own-{chance.randrange(1000)}", "connect_timeout": "1s"}
    if chance.random() < 0.5:
        cluster["type"] = chance.choice(("STATIC", "STRICT_DNS", "LOGICAL_DNS"))
        address = {"address": "127.0.0.1", "port_value": chance.randint(1, 65535)}
        endpoint = {"endpoint": {"address": {"socket_address": address}}}
        cluster["load_assignment"] = {
            "cluster_name": cluster["name"], "endpoints": [{"lb_endpoints": [endpoint]}]
        }  # fmt: skip
    cluster["lb_policy"] = chance.choice(("ROUND_ROBIN", "RANDOM", "RING_HASH", "MAGLEV"))
    document["static_resources"]["clusters"].append(cluster)


def _listener(chance: random.Random, document: Json) -> None:
    router = {"@type": _type("extensions.filters.http.router.v3.Router")}
    manager = {
        "@type": _type(f"{_MANAGER}.v3.HttpConnectionManager"),
        "stat_prefix": "own",
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "own",
                    "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "direct_response": {"status": 200}}],
                }
            ]
        },
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": router}],
    }
    filter_ = {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
    document["static_resources"].setdefault("listeners", []).append(
        {
            "name": f"own-{chance.randrange(1000)}",
            "address": _tcp(free_port()),
            "filter_chains": [{"filters": [filter_]}],
        }
    )


_MANAGER = "extensions.filters.network.http_connection_manager"


def _type(name: str) -> str:
    return f"type.googleapis.com/envoy.{name}"


def _tcp(port: int, host: str = "127.0.0.1") -> Json:
    return {"socket_address": {"address": host, "port_value": port}}


def _admin(_: random.Random, document: Json) -> None:
    document["admin"] = {"address": _tcp(free_port())}


def _set(*path: str, values: tuple[object, ...]) -> Change:
    def change(chance: random.Random, document: Json) -> None:
        place = document
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = chance.choice(values)

    return change


def _drop(*path: str | int) -> Change:
    def change(_: random.Random, document: Json) -> None:
        place: Any = document
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return change


def _layer(chance: random.Random, document: Json) -> None:
    layer = {"name": f"own-{chance.randrange(1000)}", "static_layer": {"health_check.min": 1}}
    document["layered_runtime"]["layers"].append(layer)


def _sink(_: random.Random, document: Json) -> None:
    address = _tcp(8125)
    sink = {"@type": _type("config.metrics.v3.StatsdSink"), "address": address}
    document.setdefault("stats_sinks", []).append(
        {"name": "envoy.stat_sinks.statsd", "typed_config": sink}
    )


def _control_plane(chance: random.Random, document: Json) -> None:
    _set(*chance.choice(_OF_THE_CONTROL_PLANE), values=("x",))(
        chance, document["static_resources"]["clusters"][0]
    )


_OF_THE_CONTROL_PLANE = (("name",), ("load_assignment", "cluster_name"), ("alt_stat_name",))

ADDITIVE: Mapping[str, Change] = {
    "cluster": _cluster,
    "listener": _listener,
    "admin port": _admin,
    "runtime layer": _layer,
    "sink": _sink,
    "locality": _set("node", "locality", values=({"zone": "a"}, {"region": "r", "zone": "b"})),
    "metadata": _set("node", "metadata", values=({"team": "a"}, {"list": [1, 2]})),
    "flush": _set("stats_flush_interval", values=("5s", "0.5s")),
    "watchdogs": _set("watchdogs", values=({"main_thread_watchdog": {"miss_timeout": "2s"}},)),
    "header prefix": _set("header_prefix", values=("x-own",)),
    "connections": _set("overload_manager", "refresh_interval", values=("1s", "0.1s")),
}
"""What only adds, or sets a field that has one value."""

FREE: Mapping[str, Change] = {
    **ADDITIVE,
    "all statistics": _drop("stats_config"),
    "no overload manager": _drop("overload_manager"),
    "no deferred statistics": _drop("deferred_stat_options"),
    "bad sink": _set("stats_sinks", values=([{"name": "none.such"}],)),
    "bad interval": _set("stats_flush_interval", values=("-1s", "never")),
    "bad field": _set("no_such_field", values=(1, "x")),
    "bad cluster": _set("cluster_manager", "local_cluster_name", values=("missing",)),
    "empty address": _set("admin", "address", values=(_tcp(1, ""),)),
}

PROTECTED: Mapping[str, Change] = {
    "control plane": _control_plane,
    "no control plane": _drop("static_resources", "clusters", 0),
    "no dynamic resources": _drop("dynamic_resources"),
    "no listeners by xDS": _drop("dynamic_resources", "lds_config"),
    "waits for nothing": _set(
        "dynamic_resources", "lds_config", "initial_fetch_timeout", values=("1s",)
    ),
    "state of the world": _set("dynamic_resources", "ads_config", "api_type", values=("GRPC",)),
    "node on every message": _set(
        "dynamic_resources", "ads_config", "set_node_on_first_message_only", values=(False,)
    ),
    "other node": _set("node", "id", values=("other",)),
    "other fleet": _set("node", "cluster", values=("other",)),
    "no node": _set("node", values=({"id": "", "cluster": "other"},)),
    "no runtime": _drop("layered_runtime"),
    "no hardening": _drop("layered_runtime", "layers", 1),
    "no runtime by xDS": _drop("layered_runtime", "layers", 0),
    "larger expressions": _set(
        "layered_runtime", "layers",
        values=([{"name": "hardening", "static_layer": {"re2.max_program_size.error_level": 1}}],),
    ),
    "no administration": _drop("admin"),
    "open administration": _set("admin", "address", values=(_tcp(19000, "0.0.0.0"),)),
    "no way to the administration": _drop("static_resources", "clusters", 1),
    "no statistics": _set("stats_config", "stats_matcher", values=({"reject_all": True},)),
    "no gauges": _set(
        "stats_config", "stats_matcher", values=(
            {"exclusion_list": {"patterns": [{"suffix": "_active"}]}},
            {"inclusion_list": {"patterns": [{"prefix": "server."}]}},
        ),
    ),
    "no static resources": _drop("static_resources"),
}  # fmt: skip
