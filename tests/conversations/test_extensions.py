"""Extensions by ECDS: parts make one configuration, and go after the routes that name them."""

import pytest
from envoy.config.core.v3 import extension_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2

from contour.envoy.guards import authentication, tokens
from contour.xds import resources
from contour.xds.resources import EXTENSION, Change, Name
from dag import nodes
from tests.contour.xds import world
from tests.conversations.playbook import Conversation, opened, publish, wait

TOKENS = Name(EXTENSION, tokens.NAME)
HEAD = Change(TOKENS, "", resources.part(tokens.head()))
WEB = [*world.site("a.test", "a", 1), world.route_head("web"), world.listener("http", 80, "web")]


def _provider(name: str) -> Change:
    provider = nodes.JwtProvider(name, nodes.LocalJwks("{}"))
    body = tokens.requirement(tokens.Required(name), [(provider, "{}")])
    return Change(TOKENS, f"provider/{name}", resources.part(body))


def _gone(name: str) -> Change:
    return Change(TOKENS, f"provider/{name}", None)


def _providers(talk: Conversation) -> list[str]:
    found = talk.fleet.store.resource(TOKENS)
    assert found is not None
    message = extension_pb2.TypedExtensionConfig.FromString(found.body())
    assert message.name == tokens.NAME
    filter_ = config_pb2.JwtAuthentication()
    assert message.typed_config.Unpack(filter_)
    required = sorted(it.provider_name for it in filter_.requirement_map.values())
    assert required == sorted(filter_.providers)
    return sorted(filter_.providers)


def test_parts_make_one_configuration() -> None:
    talk = Conversation([HEAD, _provider("b"), _provider("a")])
    assert _providers(talk) == ["a", "b"]


@pytest.mark.parametrize("head", [tokens.head(), authentication.head()], ids=["jwt", "basic"])
def test_joining_loses_nothing_that_the_head_says(head: bytes) -> None:
    alone = extension_pb2.TypedExtensionConfig.FromString(head)
    found = Conversation([Change(TOKENS, "", resources.part(head))]).fleet.store.resource(TOKENS)
    assert found is not None
    assert extension_pb2.TypedExtensionConfig.FromString(found.body()) == alone


def test_what_routes_may_still_name_stays_a_while() -> None:
    talk = opened(Conversation([*WEB, HEAD, _provider("a")]))
    talk >> publish(_gone("a"), _provider("b"))
    assert _providers(talk) == ["a", "b"]
    talk >> wait(5.9) >> publish(_provider("c"))
    assert _providers(talk) == ["a", "b", "c"]
    talk >> wait(0.2)
    talk.client.stream.response(talk.now)  # whoever keeps the clock looks at the alarms
    talk >> publish()
    assert _providers(talk) == ["b", "c"]


def test_what_is_wanted_again_stays() -> None:
    talk = opened(Conversation([*WEB, HEAD, _provider("a")]))
    talk >> publish(_gone("a")) >> wait(3) >> publish(_provider("a")) >> wait(9) >> publish()
    assert _providers(talk) == ["a"]


def test_a_configuration_that_goes_goes_at_once() -> None:
    talk = opened(Conversation([*WEB, HEAD, _provider("a")]))
    talk >> publish(_gone("a"), Change(TOKENS, "", None))
    assert talk.fleet.store.resource(TOKENS) is None


def test_without_envoys_nobody_is_waited_for() -> None:
    talk = Conversation([*WEB, HEAD, _provider("a")])
    talk.client.stream.close(0.0)
    talk >> publish(_gone("a"))
    assert _providers(talk) == []
