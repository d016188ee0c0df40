"""What EnvoyConfigs come to: equal content has one version, and all errors are told at once."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from google.protobuf import struct_pb2

from contour.rawconfig.reading import Reader, items, unread
from crds.meta import NamespacedName
from dag.rawconfig.content import Fixed, FromSecret, FromSlices
from tests.contour.rawconfig.documents import HCM, read, refused, revision

CLUSTER = "resources: [{type: cluster, value: {name: a, connect_timeout: 1s}}]"
ANY, STRING, STRUCT = (
    f"type.googleapis.com/google.protobuf.{it}" for it in ("Any", "StringValue", "Struct")
)
RBAC = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC"
OTHER_TYPE = "type.googleapis.com/envoy.extensions.filters.http.of_tomorrow.v3.Filter"


def nested(depth: int) -> str:
    """An object so many levels deep. Each of them is three in a Struct of Protobuf."""
    return "{a: " * depth + "1" + "}" * depth


def with_filter(config: str) -> str:
    """A listener with a filter that has this configuration."""
    chain = f"{{filters: [{{name: f, typed_config: {config}}}]}}"
    return f"resources: [{{type: listener, value: {{name: a, filter_chains: [{chain}]}}}}]"


@pytest.mark.parametrize(
    "same",
    [
        "resources: [{type: cluster, value: {connect_timeout: 1s, name: a}}]",
        'envoyResources: {clusters: [{value: \'{"connect_timeout":"1s", "name": "a"}\'}]}',
        "{serialization: yaml, envoyResources: {clusters: "
        "[{name: ignored, value: 'name: a # a comment\n\nconnect_timeout: 1s'}]}}",
        "resources: [{type: cluster, value: {name: a, connect_timeout: 1s, lb_policy: null}}]",
    ],
)
def test_equal_content_has_one_version_however_it_is_spelled(same: str) -> None:
    one, other = read(CLUSTER), read(same)
    assert one.content is not None
    assert one.content == other.content


@pytest.mark.parametrize(
    "other",
    [
        "resources: [{type: cluster, value: {name: a, connect_timeout: 2s}}]",
        "resources: [{type: cluster, value: {name: a, connect_timeout: 1s}}, "
        "{type: runtime, value: {name: r}}]",
        "resources: []",
    ],
)
def test_other_content_has_another_version(other: str) -> None:
    assert read(CLUSTER).version != read(other).version


def test_numbers_are_compared_by_their_value() -> None:
    text = "resources: [{type: runtime, value: {name: r, layer: {a: %s}}}]"
    assert read(text % "1.0").version == read(text % "1").version
    assert len({read(text % it).version for it in ("1", "1.5", "true", "'1'")}) == 4


def test_every_kind_of_resource_is_read() -> None:
    found = read(
        """
        resources:
        - {type: listener, value: {name: a}}
        - {type: route, value: {name: a}}
        - {type: scopedRoute, value: {name: a}}
        - {type: cluster, value: {name: a}}
        - {type: endpoint, value: {cluster_name: a}}
        - {type: runtime, value: {name: a}}
        - type: extensionConfig
          value: {name: a, typed_config: {"@type": HCM}}
        - {type: secret, generateFromTlsSecret: tls}
        - {type: secret, generateFromTlsSecret: ca, blueprint: validationContext}
        - {type: secret, generateFromOpaqueSecret: {name: s, key: k, alias: token}}
        - type: endpoint
          generateFromEndpointSlices:
            {selector: {matchLabels: {a: b}}, clusterName: b, targetPort: p}
        """.replace("HCM", HCM)
    )
    assert found.content is not None
    said = [(type(it).__name__, it.name) for it in found.content.items]
    assert said == [
        *[(Fixed.__name__, "a")] * 7,
        *((FromSecret.__name__, it) for it in ("tls", "ca", "token")),
        (FromSlices.__name__, "b"),
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ("{}", ["spec: exactly one of resources and envoyResources must be set"]),
        (
            "{resources: [], envoyResources: {}}",
            ["spec: exactly one of resources and envoyResources must be set"],
        ),
        (
            "resources: [{type: cluster, value: {name: a, nme: 1, upstream: 1}}, "
            "{type: listener, value: {name: b, filter_chains: [{filter: 1}]}}]",
            [
                "spec.resources[0].value.nme: is no field of envoy.config.cluster.v3.Cluster",
                "spec.resources[0].value.upstream: is no field of envoy.config.cluster.v3.Cluster",
                "spec.resources[1].value.filter_chains[0].filter: "
                "is no field of envoy.config.listener.v3.FilterChain",
            ],
        ),
        (
            with_filter(f"{{'@type': {HCM}, stat_prefx: a}}"),
            [
                "spec.resources[0].value.filter_chains[0].filters[0].typed_config.stat_prefx: "
                "is no field of envoy.extensions.filters.network.http_connection_manager.v3"
                ".HttpConnectionManager"
            ],
        ),
        (
            with_filter("{'@type': type.googleapis.com/envoy.api.v2.auth.DownstreamTlsContext}"),
            [
                "spec.resources[0].value.filter_chains[0].filters[0].typed_config.@type: "
                "envoy.api.v2.auth.DownstreamTlsContext is a type of Envoy's API v2, "
                "which Envoy no longer has"
            ],
        ),
        (
            "resources: [{type: cluster, value: {type: EDS}}, {type: endpoint, value: {}}]",
            [
                "spec.resources[0].value.name: is required",
                "spec.resources[1].value.cluster_name: is required",
            ],
        ),
        (
            "resources: [{type: cluster, value: {name: a}}, {type: cluster, value: {name: a}}]",
            ["spec.resources[1].value: the name 'a' is that of spec.resources[0].value, too"],
        ),
        (
            "resources: [{type: secret, value: {name: a}}, {type: secret}, "
            "{type: cluster, generateFromTlsSecret: a}]",
            [
                "spec.resources[0].value: must not be set: a secret is taken from a Secret, "
                "and not written down here",
                "spec.resources[1]: exactly one of generateFromTlsSecret, "
                "generateFromOpaqueSecret must be set",
                "spec.resources[2].generateFromTlsSecret: is not for a cluster",
            ],
        ),
        (
            "envoyResources: {secrets: [{name: a, ref: {name: b, namespace: other}}]}",
            [
                "spec.envoyResources.secrets[0].ref.namespace: must be default: "
                "Secrets of other namespaces are not used"
            ],
        ),
        (
            "{serialization: yaml, envoyResources: {clusters: [{value: 'a: {'}, {value: '1'}]}}",
            [
                "spec.envoyResources.clusters[0].value: line 2: did not find expected node content "
                "while parsing a flow node",
                "spec.envoyResources.clusters[1].value: must be an object",
            ],
        ),
    ],
)  # fmt: skip
def test_all_errors_are_told_with_their_paths(spec: str, errors: list[str]) -> None:
    found = read(spec)
    assert found.content is None
    assert [f"{it.path}: {it.text}" for it in found.errors] == errors


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("{name: a, connect_timeout: soon}", "connect_timeout"),
        ("{name: a, type: OFTEN}", "type"),
        ("{name: [a]}", "name"),
        ("{name: {a: b}}", "name"),
        ("{name: a, load_assignment: {endpoints: [{priority: 1.5}]}}",
         "load_assignment.endpoints[0].priority"),
        ("{name: 1}", "name"),
        ("{name: a, per_connection_buffer_limit_bytes: -1}", "per_connection_buffer_limit_bytes"),
        ("{name: a, per_connection_buffer_limit_bytes: '4294967296'}",
         "per_connection_buffer_limit_bytes"),
        ("{name: a, per_connection_buffer_limit_bytes: {value: 1}}",
         "per_connection_buffer_limit_bytes"),
        ("{name: a, load_assignment: {endpoints: [{priority: 4294967296}]}}",
         "load_assignment.endpoints[0].priority"),
        ("{name: a, lb_subset_config: {subset_selectors: [{keys: [a, 1]}]}}",
         "lb_subset_config.subset_selectors[0].keys[1]"),
        ("{name: a, metadata: 1}", ""),
        (f"{{name: a, typed_dns_resolver_config: {{typed_config: {{'@type': {STRING}}}}}}}",
         "typed_dns_resolver_config.typed_config.value"),
        (f"{{name: a, typed_dns_resolver_config: {{typed_config: {{'@type': {STRING}, value: '', "
         "v: ''}}}", "typed_dns_resolver_config.typed_config.v"),
        (f"{{name: a, typed_dns_resolver_config: {{typed_config: {{'@type': {ANY}, "
         "value: {'@type': {}}}}}", "typed_dns_resolver_config.typed_config.value.@type"),
        (f"{{name: a, typed_dns_resolver_config: {{typed_config: {{'@type': {ANY}, value: 1}}}}}}",
         "typed_dns_resolver_config.typed_config.value"),
        (f"{{name: a, metadata: {{filter_metadata: {{a: {{b: 1{'0' * 400}}}}}}}}}", ""),
        (f"{{name: a, metadata: {{filter_metadata: {{a: {nested(33)}}}}}}}", "metadata"),
        (f"{{name: a, typed_dns_resolver_config: {{typed_config: {{'@type': {STRUCT}, "
         f"value: {nested(34)}}}}}}}", "typed_dns_resolver_config.typed_config.value"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_told_with_its_path(value: str, path: str) -> None:
    found = read(f"resources: [{{type: cluster, value: {value}}}]")
    assert [it.path for it in found.errors] == [f"spec.resources[0].value.{path}".rstrip(".")]


def test_what_is_nested_as_deep_as_protobuf_reads_is_served() -> None:
    metadata = f"metadata: {{filter_metadata: {{a: {nested(32)}}}}}"
    config = (
        f"typed_dns_resolver_config: {{typed_config: {{'@type': {STRUCT}, value: {nested(33)}}}}}"
    )
    found = read(f"resources: [{{type: cluster, value: {{name: a, {metadata}, {config}}}}}]")
    assert found.content is not None, found.errors
    (item,) = found.content.items
    assert isinstance(item, Fixed)
    made = cluster_pb2.Cluster.FromString(item.body)
    assert made.typed_dns_resolver_config.typed_config.Unpack(struct_pb2.Struct())


@pytest.mark.parametrize("text", [
    '{"name": "a", "connect_timeout": "2s", "connectTimeout": "1s"}',
    '{"name": "a", "connectTimeout": "1s", "connect_timeout": "2s"}',
])  # fmt: skip
def test_of_two_names_of_one_field_that_of_the_definition_counts(text: str) -> None:
    for spec in (f"resources: [{{type: cluster, value: {text}}}]",
                 f"envoyResources: {{clusters: [{{value: '{text}'}}]}}"):  # fmt: skip
        found = read(spec)
        assert [it.path.rpartition(".")[2] for it in found.warnings] == ["connectTimeout"]
        assert found.warnings[0].text.startswith("is left out, because it is connect_timeout")
        assert found.content is not None
        (item,) = found.content.items
        assert isinstance(item, Fixed)
        assert cluster_pb2.Cluster.FromString(item.body).connect_timeout.seconds == 2


def test_of_equal_keys_in_a_text_in_json_the_last_counts_and_that_is_told() -> None:
    text = '{"name": "a", "name": "b", "metadata": {"filter_metadata": {}, "filter_metadata": {}}}'
    found = read(f"envoyResources: {{clusters: [{{value: '{text}'}}]}}")
    assert [it.path for it in found.warnings] == ["spec.envoyResources.clusters[0].value"]
    assert found.warnings[0].text.endswith("the last counts: 'filter_metadata', 'name'")
    assert found.content is not None
    assert [it.name for it in found.content.items] == ["b"]


TYPE = "envoy.config.route.v3.RouteConfiguration"


@pytest.mark.parametrize(
    ("written", "asked"),
    [  # as Envoy 1.40 asks for them
        ("all", ""),
        ("a/b:c@d+e!$'()*", ""),
        ("a b", ""),
        ("q%3Fr%23%25", ""),
        ("?a=1&b=x/y", ""),
        ("?a=x%26y", ""),
        ("p%20q", "p q"),
        ("x%2fy", "x/y"),
        ("\u00e4", "%C3%A4"),
        ("a~[1]#f", "a%7E%5B1%5D%23f"),
        ("?b=2&a=1", "?a=1&b=2"),
        ("?a", "?a="),
        ("?a=x%20y", "?a=x y"),
    ],
)
def test_names_that_envoy_spells_in_another_way_are_told(written: str, asked: str) -> None:
    before = f"xdstp://b.example/{TYPE}/"
    found = read(f'resources: [{{type: route, value: {{name: "{before}{written}"}}}}]')
    assert found.content is not None
    told = f"Envoy asks for {before + asked!r} instead; write the name so"
    assert [it.text for it in found.warnings] == [told] * bool(asked)


def test_a_reference_that_envoy_spells_in_another_way_is_told_with_its_path() -> None:
    manager = f"{{'@type': {HCM}, rds: {{route_config_name: 'xdstp://b/{TYPE}/a%20b'}}}}"
    found = read(with_filter(manager))
    assert [it.path for it in found.warnings] == [
        "spec.resources[0].value.filter_chains[0].filters[0].typed_config.rds.route_config_name"
    ]


def test_types_that_are_not_known_pass_and_are_told() -> None:
    found = read(with_filter(f"{{'@type': {OTHER_TYPE}, mode: 1}}"))
    assert [it.path for it in found.warnings] == [
        "spec.resources[0].value.filter_chains[0].filters[0].typed_config"
    ]
    assert found.content is not None
    (item,) = found.content.items
    assert isinstance(item, Fixed)
    made = listener_pb2.Listener.FromString(item.body)
    config = made.filter_chains[0].filters[0].typed_config
    assert config.TypeName() == "xds.type.v3.TypedStruct"
    assert OTHER_TYPE.encode() in config.value


@pytest.mark.parametrize(
    "spec",
    [
        "nodeID: ''",
        f"nodeID: {'x' * 300}",
        'nodeID: "a\\nb"',
        "resources: [{type: lister, value: {}}]",
        "resources: [{type: cluster, value: text}]",
        f"envoyResources: {{clusters: [{{value: '{'x' * (1 << 20)}x'}}]}}",
        f"resources: [{', '.join(['{type: cluster, value: {name: a}}'] * 2001)}]",
    ],
)
def test_what_no_envoyconfig_can_hold_is_refused_as_it_is_read(spec: str) -> None:
    assert refused(spec)


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    bomb = "\n".join(f"        {it}" for it in lines)
    found = read(f"serialization: yaml\nenvoyResources:\n  clusters:\n    - value: |\n{bomb}\n")
    assert ["aliases expand" in it.text for it in found.errors] == [True]


def test_texts_that_stand_for_too_much_in_all_are_refused() -> None:
    """What aliases of one text may stand for is not allowed for each of a thousand texts."""
    long = "x" * 100_000
    text = f"{{value: '{{name: a%d, layer: {{a: &a {long}, b: [{', '.join(['*a'] * 40)}]}}}}'}}"
    every = ", ".join(text % it for it in range(4))
    (error,) = read(f"serialization: yaml\nenvoyResources: {{runtimes: [{every}]}}").errors
    assert error.path == "spec.envoyResources.runtimes[1].value"
    assert "more than 4,194,304 characters of JSON" in error.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a\n        metadata: &a {filter_metadata: *a}", "refers to no complete anchor"),
        ('{"a":' * 3000 + "1" + "}" * 3000, "deep"),
        ('{"name": "\\ud800"}', "has '\\ud800', which is half of a surrogate pair"),
    ],
)
def test_a_text_that_no_object_may_hold_is_refused(text: str, words: str) -> None:
    spec = f"serialization: yaml\nenvoyResources:\n  clusters:\n    - value: |\n        {text}\n"
    (error,) = read(spec).errors
    assert error.path == "spec.envoyResources.clusters[0].value"
    assert words in error.text


def and_ids(depth: int) -> str:
    """An RBAC filter with so many nested lists of principals: three levels of JSON for each."""
    principal = '{"and_ids": {"ids": [' * depth + '{"any": true}' + "]}}" * depth
    policy = f'{{"permissions": [{{"any": true}}], "principals": [{principal}]}}'
    return f'{{"@type": "{RBAC}", "rules": {{"policies": {{"p": {policy}}}}}}}'


def in_text(config: str, serialization: str) -> str:
    chain = f'{{"filters": [{{"name": "f", "typed_config": {config}}}]}}'
    text = f'{{"name": "a", "filter_chains": [{chain}]}}'
    return f"serialization: {serialization}\nenvoyResources: {{listeners: [{{value: '{text}'}}]}}"


@pytest.mark.parametrize("serialization", ["json", "yaml"])
@pytest.mark.parametrize("config", [and_ids(48), f'{{"@type": "{HCM}", "stat_prefix": "\\u0000"}}'])
def test_a_text_that_protobuf_reads_is_served_also_from_a_stored_revision(
    config: str, serialization: str
) -> None:
    spec = in_text(config, serialization)
    found = read(spec)
    assert found.content is not None, found.errors
    kept = unread(revision(spec, found.version))
    assert kept is not None
    assert items(kept) == found.content.items


def test_a_text_that_protobuf_does_not_read_is_refused() -> None:
    (error,) = read(in_text(and_ids(49), "json")).errors
    assert error.path.endswith(".value.filter_chains[0].filters[0].typed_config")
    assert "too deep" in error.text


@pytest.mark.parametrize("node", ["a b", "ä/ö", "a:b:c", "a.b_c~d", "../../x"])
def test_odd_node_ids_are_served(node: str) -> None:
    assert read(f"{{nodeID: '{node}', resources: []}}").node == node


def test_an_edit_costs_the_values_that_it_changes() -> None:
    reader, text = Reader(), "resources: [%s]"
    values = [f"{{type: cluster, value: {{name: '{it}', connect_timeout: 1s}}}}" for it in range(9)]
    read(text % ", ".join(values), reader)
    assert reader.parsed == 9
    values[4] = values[4].replace("1s", "2s")
    edited = text % ", ".join(reversed(values))
    again = read(edited, reader)
    assert reader.parsed == 10
    assert again == read(edited)  # as read by somebody who remembers nothing
    bad = read(edited.replace("2s", "soon"), reader)
    assert bad.errors == read(edited.replace("2s", "soon")).errors
    assert bad.errors[0].path == "spec.resources[4].value.connect_timeout"
    reader.forget(NamespacedName("default", "test"))
    read(edited, reader)
    assert reader.parsed == 10 + 1 + 9
