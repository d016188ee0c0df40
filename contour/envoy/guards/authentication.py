"""API keys and passwords: Envoy's api_key_auth and basic_auth filters, selected by name.

Routes contain no keys. One configuration by ECDS has the filters of every policy, each under the
policy's name (`entry`); a route contains only the name (`policy`), and a place in the chain runs
the filters of that name. So routes hold no secrets, a policy with ten thousand keys is stored once
however many hosts it guards, and a new key changes no route. If a name does not exist (yet), no
request passes.

The name is in the filter state of the request, where no client and no server can write: a filter
puts it there (`NAMED`), and the place reads it. Metadata would be slower: a matcher for metadata
compares one policy after the other.
"""

from collections.abc import Iterator
from hashlib import blake2b

from envoy.config.core.v3 import (
    base_pb2,
    config_source_pb2,
    extension_pb2,
    substitution_format_string_pb2,
)
from envoy.extensions.common.matching.v3 import extension_matcher_pb2 as matching_pb
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.extensions.filters.common.set_filter_state.v3 import value_pb2
from envoy.extensions.filters.http.api_key_auth.v3 import api_key_auth_pb2 as keys_pb
from envoy.extensions.filters.http.basic_auth.v3 import basic_auth_pb2 as passwords_pb
from envoy.extensions.filters.http.composite.v3 import composite_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2
from envoy.extensions.filters.http.set_filter_state.v3 import set_filter_state_pb2 as state_pb
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2

from contour.envoy import encoding
from contour.envoy.guards import places
from crds.meta import ObjectRef
from dag import nodes

NAMED = "contour.authentication.named"
"""The filter that puts the name into the filter state."""
NAME = "contour.authentication"
"""The place, and the resource that configures it."""
_STATE = "contour.authentication"
_NONE = "none"
"""The name of no policy."""


def named() -> state_pb.Config:
    """The filter in every chain: routes without configuration require nothing."""
    return _says(_NONE)


def policy(node: nodes.Authentication) -> state_pb.Config:
    """The policy whose keys and passwords are required."""
    return _says(_name(node.source))


def off() -> state_pb.Config:
    """Turns off the virtual host's policy."""
    return _says(_NONE)


def _says(name: str) -> state_pb.Config:
    result = state_pb.Config()
    result.on_request_headers.append(
        value_pb2.FilterStateValue(
            object_key=_STATE,
            factory_key="envoy.string",
            format_string=substitution_format_string_pb2.SubstitutionFormatString(
                text_format_source=base_pb2.DataSource(inline_string=name)
            ),
        )
    )
    return result


def _name(source: ObjectRef) -> str:
    """The name of a policy, without `%`, which Envoy would take for an operator."""
    return blake2b(str(source).encode(), digest_size=16).hexdigest()


def discovered() -> config_source_pb2.ExtensionConfigSource:
    """The place in every filter chain, with the source of its configuration."""
    result = config_source_pb2.ExtensionConfigSource(
        config_source=encoding.aggregated(), type_urls=[_TYPE]
    )
    result.default_config.CopyFrom(encoding.packed(_place()))
    return result


def head() -> bytes:
    """The name and the type of the configuration."""
    result = extension_pb2.TypedExtensionConfig(name=NAME)
    result.typed_config.type_url = _TYPE
    return encoding.encoded(result)


def place() -> bytes:
    """The configuration without any policy."""
    return encoding.encoded(_place())


def entry(source: ObjectRef, known: nodes.Known) -> bytes:
    """The configuration with only the filters of one policy."""
    result = matching_pb.ExtensionWithMatcher()
    _write(result, _name(source), places.action(list(_filters(known))))
    return encoding.encoded(result)


_TYPE = f"type.googleapis.com/{matching_pb.ExtensionWithMatcher.DESCRIPTOR.full_name}"


def _place() -> matching_pb.ExtensionWithMatcher:
    """The place: without a policy every request passes; with an unknown name none does."""
    result = matching_pb.ExtensionWithMatcher()
    result.extension_config.name = "composite"
    result.extension_config.typed_config.Pack(composite_pb2.Composite())
    tree = result.xds_matcher.matcher_tree
    tree.input.name = "name"
    tree.input.typed_config.Pack(network_inputs_pb2.FilterStateInput(key=_STATE))
    _write(result, _NONE, skip_action_pb2.SkipFilter())
    nobody = rbac_pb2.RBAC()
    nobody.rules.SetInParent()
    _write_action(result.xds_matcher.on_no_match, places.action([("nobody", nobody)]))
    return result


def _write(target: matching_pb.ExtensionWithMatcher, name: str, action: Message) -> None:
    tree = target.xds_matcher.matcher_tree
    _write_action(tree.exact_match_map.map[name], action)


def _write_action(target: matcher_pb2.Matcher.OnMatch, action: Message) -> None:
    target.action.name = "authentication"
    target.action.typed_config.CopyFrom(encoding.packed(action))


def _filters(known: nodes.Known) -> Iterator[tuple[str, Message]]:
    """In the order in which a request passes them."""
    if known.keys is not None:
        yield "envoy.filters.http.api_key_auth", _keys(known.keys)
    if known.passwords is not None:
        yield "envoy.filters.http.basic_auth", _passwords(known.passwords)


def _keys(node: nodes.ApiKeys) -> keys_pb.ApiKeyAuth:
    result = keys_pb.ApiKeyAuth()
    for client, key in node.keys:
        result.credentials.add(client=client, key=key)
    for it in node.sources:
        result.key_sources.append(keys_pb.KeySource(**{it.kind: it.name}))
    result.forwarding.header = node.client_header
    result.forwarding.hide_credentials = node.is_hidden
    return result


def _passwords(node: nodes.Passwords) -> passwords_pb.BasicAuth:
    users = "\n".join(f"{user}:{{SHA}}{digest}" for user, digest in node.users)
    result = passwords_pb.BasicAuth(forward_username_header=node.user_header)
    result.users.inline_string = users
    return result
