"""What becomes of a bootstrap that a user wrote: what is accepted, and why what is not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contour import bootstrap, custombootstrap
from crds.custombootstrap import LONGEST

_SETTINGS = bootstrap.Settings(
    node="envoy-1",
    fleet="shop/web",
    control_plane=bootstrap.SocketAddress("contour.system", 8001),
    credentials=bootstrap.Credentials(
        certificate=Path("/certs/tls.crt"),
        key=Path("/certs/tls.key"),
        authority=Path("/certs/ca.crt"),
        server_name="contour",
        secrets=Path("/config/resources"),
    ),
    admin=Path("/admin/admin.sock"),
    monitoring=bootstrap.SocketAddress("0.0.0.0", 8002),
)
_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 19000}}}
_STRING = "type.googleapis.com/google.protobuf.StringValue"
_EXTRA = {"name": "extra", "connect_timeout": "1s"}


_FEDERATED = replace(
    _SETTINGS,
    authorities=tuple((it, bootstrap.SocketAddress(it, 8001)) for it in ("b.example", "c.example")),
)


def _applied(text: str) -> dict[str, Any]:
    custom, found = custombootstrap.from_text(text)
    assert custom is not None, found
    result: dict[str, Any] = json.loads(
        custombootstrap.applied(custom, _SETTINGS, {8080: "listener http"}).text
    )
    return result


def _refusal(text: str, settings: bootstrap.Settings = _SETTINGS) -> str:
    custom, found = custombootstrap.from_text(text)
    if custom is None:
        return "; ".join(map(custombootstrap.sentence, found.errors))
    with pytest.raises(custombootstrap.RefusedBootstrapError) as refused:
        custombootstrap.applied(custom, settings, {8080: "listener http"})
    return str(refused.value)


def _merge(value: object) -> str:
    return json.dumps({"type": "Merge", "value": json.dumps(value)})


def _patch(*patches: object) -> str:
    return json.dumps({"type": "JSONPatch", "jsonPatches": patches})


def _op(op: str, path: str, **more: object) -> object:
    return {"op": op, "path": path, **more}


def _without(*path: str | int) -> str:
    place: Any = (document := bootstrap.document(_SETTINGS))
    for it in path[:-1]:
        place = place[it]
    del place[path[-1]]
    return json.dumps(document)


def test_the_usual_one_stays_as_it_is() -> None:
    assert _applied(bootstrap.text(_SETTINGS)) == bootstrap.document(_SETTINGS)


def test_one_text_serves_many_fleets_if_it_does_not_name_the_node() -> None:
    assert _applied(_without("node"))["node"] == {"id": "envoy-1", "cluster": "shop/web"}


@pytest.mark.parametrize(
    "text",
    [
        _merge({"staticResources": {"clusters": [{"name": "extra", "connectTimeout": "1s"}]}}),
        _patch(_op("add", "/static_resources/clusters/-", value=_EXTRA)),
    ],
    ids=["merged", "patched"],
)
def test_a_cluster_is_added_in_either_spelling(text: str) -> None:
    names = [it["name"] for it in _applied(text)["static_resources"]["clusters"]]
    assert names == ["contour", "envoy-admin", "extra"]


def test_merging_joins_messages_replaces_members_of_a_oneof_and_appends_lists() -> None:
    found = _applied(
        _merge(
            {
                "admin": _ADMIN,
                "node": {"locality": {"zone": "a"}},
                "overload_manager": {"refresh_interval": "1s"},
                "layered_runtime": {"layers": [{"name": "own", "static_layer": {"a": 1}}]},
            }
        )
    )
    assert found["admin"] == _ADMIN
    assert found["node"] == {"id": "envoy-1", "cluster": "shop/web", "locality": {"zone": "a"}}
    assert found["overload_manager"]["refresh_interval"] == "1s"
    assert found["overload_manager"]["resource_monitors"]
    names = [it["name"] for it in found["layered_runtime"]["layers"]]
    assert names == ["dynamic", "hardening", "own"]


def test_metrics_follow_the_administration_to_another_port() -> None:
    custom, _ = custombootstrap.from_text(_merge({"admin": _ADMIN}))
    assert custom is not None
    found = custombootstrap.applied(custom, _SETTINGS)
    assert found.admin == bootstrap.SocketAddress("127.0.0.1", 19000)
    _, cluster = json.loads(found.text)["static_resources"]["clusters"]
    (locality,) = cluster["load_assignment"]["endpoints"]
    assert locality["lb_endpoints"][0]["endpoint"]["address"] == _ADMIN["address"]


def test_a_type_that_is_not_known_here_is_left_to_envoy_and_told() -> None:
    sink = {"name": "x", "typed_config": {"@type": "type.googleapis.com/own.v1.Sink", "a": 1}}
    custom, _ = custombootstrap.from_text(_merge({"stats_sinks": [sink]}))
    assert custom is not None
    (warning,) = custombootstrap.applied(custom, _SETTINGS).warnings
    sentence = custombootstrap.sentence(warning)
    assert sentence.startswith("stats_sinks[0].typed_config the type own.v1")


def _matching(**matcher: object) -> str:
    """A bootstrap with another matcher of statistics."""
    return _patch(_op("replace", "/stats_config/stats_matcher", value=matcher))


def _any(*more: object, **pattern: object) -> object:
    return {"patterns": [*more, pattern]}


_KEPT = ({"safe_regex": {"regex": r"http\.[^.]+\.downstream_(cx|rq)_active"}},)


@pytest.mark.parametrize(
    "text",
    [
        _without("stats_config"),
        _matching(reject_all=False),
        _matching(inclusion_list=_any(*_KEPT, prefix="LISTENER", ignore_case=True)),
        _matching(exclusion_list=_any(prefix="cluster.")),
        _merge({"stats_config": {"stats_matcher": {"inclusion_list": _any(prefix="vhost")}}}),
    ],
)
def test_other_statistics_may_be_left_out(text: str) -> None:
    assert _applied(text)


_TLS = "/static_resources/clusters/0/transport_socket/typed_config"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (_without("dynamic_resources"), "dynamic_resources.ads_config must stay"),
        (_without("static_resources"), "clusters[name=contour] must stay"),
        (_without("static_resources", "clusters", 0), "clusters[name=contour] must stay"),
        (
            _patch(_op("replace", f"{_TLS}/sni", value="other")),
            'clusters[name=contour].transport_socket.typed_config.sni must stay "contour", not '
            '"other"',
        ),
        (
            _patch(_op("remove", "/static_resources/clusters/0/transport_socket")),
            "clusters[name=contour].transport_socket must stay",
        ),
        (
            _patch(
                _op(
                    "replace",
                    "/static_resources/clusters/0/load_assignment/endpoints/0/lb_endpoints/0"
                    "/endpoint/address/socket_address/address",
                    value="evil",
                )
            ),
            'socket_address.address must stay "contour.system", not "evil"',
        ),
        (
            _patch(_op("replace", "/dynamic_resources/ads_config/api_type", value="GRPC")),
            'dynamic_resources.ads_config.api_type must stay "DELTA_GRPC", not "GRPC"',
        ),
        (_merge({"node": {"id": "me"}}), "node.id must stay 'envoy-1', not 'me'"),
        (_merge({"node": {"cluster": "b"}}), "node.cluster must stay 'shop/web', not 'b'"),
        (_patch(_op("remove", "/admin")), "admin.address must not be removed"),
        (
            _merge({"admin": {"address": {"pipe": {"path": "/tmp/x"}}}}),
            "must stay the socket /admin/admin.sock, or be a TCP port of the loopback interface",
        ),
        (
            _patch(_op("replace", "/admin", value={"address": {"socket_address": {
                "address": "10.0.0.1", "port_value": 1}}})),
            "or be a TCP port of the loopback interface",
        ),
        (_without("static_resources", "clusters", 1), "clusters[name=envoy-admin] must stay"),
        (_without("static_resources", "listeners"), "listeners[name=monitoring] must stay"),
        (_without("layered_runtime"), "layered_runtime.layers[name=dynamic] must stay"),
        (_matching(reject_all=True), "stats_config.stats_matcher must keep listener_manager.wo"),
        (_matching(inclusion_list=_any(prefix="listener")), "must keep http.*.downstream_rq"),
        (
            _matching(inclusion_list=_any(*_KEPT, exact="listener_manager.workers_started")),
            "must keep listener.*.downstream_cx_active: readiness and draining",
        ),
        (_matching(exclusion_list=_any(suffix="_cx_active")), "listener.*.downstream_cx_active"),
        (_matching(exclusion_list=_any(contains="_RQ_", ignore_case=True)), "http.*.downstream_rq"),
        (_matching(exclusion_list=_any(safe_regex={"regex": "("})), "must keep listener_manager"),
        (
            _merge({"static_resources": {"clusters": [{**_EXTRA, "name": "contour"}]}}),
            "static_resources.clusters has 2 clusters called 'contour'",
        ),
    ],
)  # fmt: skip
def test_what_must_stay_is_refused_with_the_difference(text: str, told: str) -> None:
    assert told in _refusal(text)


_SOURCE = "/config_sources/1/api_config_source"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (_op("remove", "/config_sources"), "config_sources[authority=b.example] must stay"),
        (_op("remove", "/config_sources/1"), "config_sources[authority=c.example] must stay"),
        (
            _op("replace", f"{_SOURCE}/grpc_services/0/envoy_grpc/cluster_name", value="extra"),
            "config_sources[authority=c.example].api_config_source.grpc_services[0].envoy_grpc."
            'cluster_name must stay "contour:c.example", not "extra"',
        ),
        (
            _op("remove", "/static_resources/clusters/1"),
            "clusters[name=contour:b.example] must stay",
        ),
    ],
)
def test_the_other_control_planes_must_stay(patch: object, told: str) -> None:
    assert told in _refusal(_patch(patch), _FEDERATED)


def test_further_control_planes_may_be_added() -> None:
    source: dict[str, object] = {"authorities": [{"name": "d.example"}], "ads": {}}
    custom, found = custombootstrap.from_text(_merge({"config_sources": [source]}))
    assert custom is not None, found
    made = json.loads(custombootstrap.applied(custom, _FEDERATED).text)
    assert [it["authorities"][0]["name"] for it in made["config_sources"]] == [
        "b.example", "c.example", "d.example",
    ]  # fmt: skip


def _listener(port: int, host: str = "127.0.0.1", **more: object) -> str:
    socket = {"address": host, "port_value": port, **more}
    listener = {"name": "own", "address": {"socket_address": socket}}
    return _merge({"static_resources": {"listeners": [listener]}, "admin": _ADMIN})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (_listener(8080), "listeners[1].address TCP port 8080 is used by listener http"),
        (_listener(8002), "TCP port 8002 is used by the static listener monitoring"),
        (_listener(19000), "TCP port 19000 is used by the administration interface"),
        (_listener(19000, "0.0.0.0"), "used by the administration interface"),
        (_listener(19000, "127.0.0.2"), ""),
        (_listener(8080, protocol="UDP"), ""),
    ],
)
def test_a_listener_on_a_used_port_is_refused(text: str, told: str) -> None:
    if told:
        assert told in _refusal(text)
    else:
        assert _applied(text)["static_resources"]["listeners"][1]["name"] == "own"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be an object"),
        ("- a", "must be an object"),
        ("a: [", "line 2"),
        ("x" * (LONGEST + 1), "at most 524,288 are allowed"),
        ("a: &a [x, x, x, x]\n" + "".join(
            f"{n}: &{n} [*{m}, *{m}, *{m}, *{m}]\n" for m, n in zip("abcdefgh", "bcdefghi",
            strict=True)), "aliases expand to more than 50000 values"),
        ("admin: {adress: {}}", "admin.adress is no field of envoy.config.bootstrap.v3.Admin"),
        (_merge({"admin": {"adress": {}}}), "value.admin.adress is no field"),
        (_merge({"stats_flush_interval": "-1s"}), "stats_flush_interval must be at least 0.001s"),
        (
            _merge({"static_resources": {"clusters": [{"name": ""}]}}),
            "static_resources.clusters[2].name must have at least 1 characters",
        ),
        (
            _merge({"static_resources": {"listeners": [{"name": "x", "filter_chains": [
                {"filters": [{"name": "y", "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3"
                    ".TcpProxy", "cluster": "z"}}]}]}]}}),
            "filters[0].typed_config.stat_prefix must have at least 1 characters",
        ),
        (_merge({"stats_sinks": [{"typed_config": {"@type": _STRING}}]}),
         "value.stats_sinks[0].typed_config.value is required"),
        (_patch(_op("add", "/stats_sinks", value=[{"typed_config": {"@type": _STRING}}])),
         "stats_sinks[0].typed_config.value is required"),
        ('{"a":' * 400 + "1" + "}" * 400, "is too large or nested too deeply"),
        (_patch(_op("remove", "/nowhere")), "jsonPatches[0] remove /nowhere: can't remove"),
        (_patch(_op("test", "/node/id", value="x")), "jsonPatches[0] test /node/id:"),
        (_patch(_op("replace", "", value=[1])), "jsonPatches leave no object"),
        (
            _patch(*[_op("copy", f"/stats_sinks{n}", **{"from": ""}) for n in range(20)]),
            "more than 524,288 characters are written in all",
        ),
        (
            _patch(_op("add", "/a", value={}), *[
                _op("copy", "/a" * min(2**n, 510) + "/a", **{"from": "/a"}) for n in range(12)]),
            "makes it nested too deeply",
        ),
        (
            _patch(_op("copy", "/node/id", **{"from": "/static_resources/clusters/-"})),
            "jsonPatches[0] copy /node/id: from leads past the end of a list",
        ),
        (_patch(_op("add", "/a")), "value must be set for add, replace and test"),
        (json.dumps({"type": "Merge"}), "Replace and Merge need value alone"),
        (json.dumps({"value": "a: 1", "jsonPatches": [_op("remove", "/a")]}), "need value alone"),
    ],
)  # fmt: skip
def test_what_is_no_bootstrap_is_refused_with_its_place(text: str, told: str) -> None:
    assert told in _refusal(text)


def test_a_text_may_be_nested_as_deep_as_protobuf_reads() -> None:
    principal: dict[str, Any] = {"any": True}
    for _ in range(40):  # three levels of JSON each
        principal = {"and_ids": {"ids": [principal]}}
    rbac = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute"
    policy = {"permissions": [{"any": True}], "principals": [principal]}
    config = {"@type": rbac, "rbac": {"rules": {"policies": {"p": policy}}}}
    found = _applied(_merge({"stats_sinks": [{"name": "a", "typed_config": config}]}))
    assert found["stats_sinks"][0]["typed_config"] == config


@pytest.mark.parametrize(
    "text",
    [
        "a: $(b)",
        _merge({"a": "${b} ä"}),
        _patch(_op("add", "/a", value={"b": ["$", None]}), _op("move", "/c", **{"from": "/d"})),
    ],
)
def test_it_is_written_as_a_text_that_reads_as_the_same(text: str) -> None:
    custom, _ = custombootstrap.from_text(text)
    assert custom is not None
    written = custombootstrap.as_text(custom)
    assert "$" not in written
    assert custombootstrap.from_text(written)[0] == custom
