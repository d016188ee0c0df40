"""Header policies: what is set, added and removed, and that values stay literal."""

from envoy.config.core.v3 import base_pb2

from dag import nodes
from tests.contour.envoy import encoded, world

OVERWRITE = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
APPEND = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD


def test_set_overwrites_and_add_appends() -> None:
    policy = nodes.HeaderPolicy(set=(("a", "1"),), add=(("b", "2"),), remove=("c",))
    (found,) = encoded.routes(
        world.route(nodes.Respond(200), request_headers=policy, response_headers=policy)
    )
    for added in (found.request_headers_to_add, found.response_headers_to_add):
        assert [(it.header.key, it.header.value, it.append_action) for it in added] == [
            ("a", "1", OVERWRITE),
            ("b", "2", APPEND),
        ]
    assert list(found.request_headers_to_remove) == ["c"]
    assert list(found.response_headers_to_remove) == ["c"]


def test_a_percent_sign_is_no_format() -> None:
    policy = nodes.HeaderPolicy(set=(("a", "100% %REQ(cookie)%"),))
    (found,) = encoded.routes(world.route(nodes.Respond(200), request_headers=policy))
    assert world.pairs(found.request_headers_to_add) == {"a": "100%% %%REQ(cookie)%%"}


def test_an_empty_value_is_kept() -> None:
    policy = nodes.HeaderPolicy(set=(("a", ""),))
    (found,) = encoded.routes(world.route(nodes.Respond(200), response_headers=policy))
    assert found.response_headers_to_add[0].keep_empty_value
