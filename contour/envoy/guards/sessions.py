"""Session persistence: requests of a session go to the endpoint that answered its first one.

The address of the endpoint is in a cookie or header; an endpoint that is gone is replaced by
another one.
"""

from envoy.config.core.v3 import extension_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2 as pb
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2
from envoy.extensions.http.stateful_session.header.v3 import header_pb2

from contour.envoy import encoding
from dag import nodes

NAME = "envoy.filters.http.stateful_session"


def installed() -> pb.StatefulSession:
    """Without a state there are no sessions."""
    return pb.StatefulSession()


def policy(node: nodes.SessionPersistence) -> pb.StatefulSessionPerRoute:
    """Where the session is kept."""
    state: cookie_pb2.CookieBasedSessionState | header_pb2.HeaderBasedSessionState
    if node.kind == "Cookie":
        state = cookie_pb2.CookieBasedSessionState()
        state.cookie.name = node.name
        state.cookie.path = node.path
        state.cookie.ttl.CopyFrom(encoding.seconds(node.lifetime or 0))
    else:
        state = header_pb2.HeaderBasedSessionState(name=node.name)
    result = pb.StatefulSessionPerRoute()
    result.stateful_session.session_state.CopyFrom(
        extension_pb2.TypedExtensionConfig(
            name=f"envoy.http.stateful_session.{node.kind.lower()}",
            typed_config=encoding.packed(state),
        )
    )
    return result


def off() -> pb.StatefulSessionPerRoute:
    """Turns off the virtual host's sessions."""
    return pb.StatefulSessionPerRoute(disabled=True)
