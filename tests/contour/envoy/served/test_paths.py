"""Which paths a request can have: the rule is as Envoy is, character by character."""

import pytest

from dag import nodes
from dag.values import paths
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

_CHARACTERS = [*(chr(it) for it in range(32, 128) if chr(it) not in "/."), "\t", "ü"]
_PATHS = [
    *(f"/a{it}b" for it in _CHARACTERS),
    *(f"/a%{it:02X}b" for it in range(33, 128) if chr(it) not in "/\\"),
    *("/x/../y", "/x/./y", "/x/..", "/x/.", "/.", "/..", "/%2e%2e/y", "/x/%2E", "/x/.%2e"),
    *("/.git", "/x/..y", "/x../y", "/a.b", "/%C3%BC", "/a%", "/a%zz", "/a%2"),
]


def hosts(served: Served) -> None:
    for number, path in enumerate(_PATHS):
        route = world.route(nodes.Respond(200), nodes.Exact(path))
        served.proxy.world.host(world.PLAIN, f"p{number}.test", route)


async def test_a_route_is_dead_where_the_rule_says_so_and_only_there(envoy: Served) -> None:
    for number, path in enumerate(_PATHS):
        answer = await proxies.ask(envoy.plain, f"p{number}.test", path)
        refusal = paths.refusal(path)
        assert (answer is not None and answer.status == 200) == (refusal is None), (path, refusal)
