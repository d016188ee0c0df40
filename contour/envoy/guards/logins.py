"""Logins at an OpenID provider: Envoy's oauth2 filter, configured for each route.

The secrets of a login come by SDS, so routes do not contain them. If the secrets of a route do not
exist (yet), no request passes. The route's configuration is a message that Envoy has since 1.38 and
that the wheel of xDS messages lacks: `PerRoute` defines it as in Envoy's `oauth.proto`, with the
number of the field that forwards ID tokens (since 1.39).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from envoy.extensions.filters.http.oauth2.v3 import oauth_pb2 as pb
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.type.matcher.v3 import http_inputs_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from contour.envoy import encoding, matches, names
from contour.envoy.guards import attributes, places, replacing
from contour.xds import wire
from crds.fields import SameSite
from crds.meta import ObjectRef
from dag import nodes

NAME = "envoy.filters.http.oauth2"
CHECKED = "contour.login.checked"
"""A place before that filter."""
TIMEOUT = 10.0
"""Seconds that the token endpoint has to answer."""

Part = Literal["client", "hmac"]
PARTS: tuple[Part, ...] = ("client", "hmac")
"""The secrets of a login."""

_FORWARDED_ID_TOKEN = 31
_PER_ROUTE = "OAuth2PerRoute"
_SAME_SITE = {
    "Lax": pb.CookieConfig.LAX,
    "Strict": pb.CookieConfig.STRICT,
    "None": pb.CookieConfig.NONE,
}
_LASTING = (
    "bearer_token_cookie_config",
    "oauth_hmac_cookie_config",
    "oauth_expires_cookie_config",
    "id_token_cookie_config",
    "refresh_token_cookie_config",
)
_PASSING = ("oauth_nonce_cookie_config", "code_verifier_cookie_config")
"""Cookies that are needed during a login, when the provider's page sends the browser back."""


def _per_route() -> type[Message]:
    """Defines the message for routes, unless protobuf already knows it."""
    package = pb.DESCRIPTOR.package
    pool = descriptor_pool.Default()
    name = f"{package}.{_PER_ROUTE}"
    try:
        found = pool.FindMessageTypeByName(name)
    except KeyError:
        file = descriptor_pb2.FileDescriptorProto(
            name="contour/oauth2_per_route.proto",
            package=package,
            dependency=[pb.DESCRIPTOR.name],
            syntax="proto3",
        )
        field = file.message_type.add(name=_PER_ROUTE).field.add(name="config", number=1)
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        field.type_name = f".{pb.OAuth2Config.DESCRIPTOR.full_name}"
        pool.AddSerializedFile(file.SerializeToString())
        found = pool.FindMessageTypeByName(name)
    return message_factory.GetMessageClass(found)


PerRoute = _per_route()


def installed() -> pb.OAuth2:
    """The filter in every chain: routes without configuration need no login."""
    return pb.OAuth2()


@lru_cache(maxsize=1024)
def policy(node: nodes.Login, cluster: str) -> Message:
    """Sends users without a login to the provider."""
    result = PerRoute()
    result.MergeFromString(wire.field(1, encoding.encoded(_config(node, cluster))))
    return result


def checked() -> Message:
    """For logins whose tokens are not encrypted: Envoy writes them into cookies as the provider
    sent them. With a line break in one, the provider, which may be a tenant's, could forge the next
    response on the connection (RFC 9112, section 6.3); clients get 502 then."""
    condition = attributes.Predicate()
    found = condition.single_predicate
    found.input.name = "envoy.matching.inputs.response_headers"
    cookies = http_inputs_pb2.HttpResponseHeaderMatchInput(header_name="set-cookie")
    found.input.typed_config.CopyFrom(encoding.packed(cookies))
    found.value_match.safe_regex.google_re2.SetInParent()
    found.value_match.safe_regex.regex = r"(?s).*[\x00\r\n].*"
    return places.filled(replacing.FILTER, replacing.where(condition, 502))


def secret(source: ObjectRef, part: Part, known: nodes.LoginSecrets) -> bytes:
    """One of the secrets of a login."""
    result = secret_pb2.Secret(name=names.login(source, part).name)
    content = known.client if part == "client" else known.hmac
    result.generic_secret.secret.inline_bytes = content
    return encoding.encoded(result)


def _config(node: nodes.Login, cluster: str) -> pb.OAuth2Config:
    result = pb.OAuth2Config(
        authorization_endpoint=node.endpoints.authorization,
        end_session_endpoint=node.endpoints.end_session,
        redirect_uri=node.redirect,
        forward_bearer_token=node.forwards_access_token,
        auth_scopes=node.scopes,
        resources=node.resources,
        auth_type=pb.OAuth2Config.BASIC_AUTH,
        disable_token_encryption=node.is_plain,
        stat_prefix="",
    )
    result.token_endpoint.cluster = cluster
    result.token_endpoint.uri = node.endpoints.token
    result.token_endpoint.timeout.CopyFrom(encoding.seconds(TIMEOUT))
    result.redirect_path_matcher.path.exact = node.callback
    result.signout_path.path.exact = node.logout
    result.use_refresh_token.value = node.refreshes
    _write_credentials(result.credentials, node)
    _write_times(result, node)
    _write_cookies(result.cookie_configs, node.same_site)
    for it in node.passed:
        matches.write_header(result.pass_through_matcher.add(name=it.name), it)
    for it in node.denied:
        matches.write_header(result.deny_redirect_matcher.add(name=it.name), it)
    if node.retry is not None:
        _write_retry(result, node.retry)
    if node.id_token_header:
        header = wire.field(1, node.id_token_header.encode())
        result.MergeFromString(wire.field(_FORWARDED_ID_TOKEN, header))
    return result


def _write_credentials(target: pb.OAuth2Credentials, node: nodes.Login) -> None:
    target.client_id = node.client_id
    target.cookie_domain = node.domain
    for part, source in (("client", target.token_secret), ("hmac", target.hmac_secret)):
        source.name = names.login(node.source, part).name
        source.sds_config.CopyFrom(encoding.aggregated())
    called = target.cookie_names
    called.bearer_token = node.cookies.access_token
    called.id_token = node.cookies.id_token
    called.refresh_token = node.cookies.refresh_token
    called.oauth_expires = node.cookies.expires
    called.oauth_hmac = node.cookies.hmac
    called.oauth_nonce = node.cookies.nonce
    called.code_verifier = node.cookies.verifier


def _write_times(target: pb.OAuth2Config, node: nodes.Login) -> None:
    """Fills in times. The verifier lives as long as the nonce, since a login needs both."""
    for field, seconds in _times(node):
        getattr(target, field).CopyFrom(encoding.seconds(seconds))


def _times(node: nodes.Login) -> Iterator[tuple[str, float]]:
    for field, seconds in (
        ("default_expires_in", node.lifetime),
        ("default_refresh_token_expires_in", node.refresh_lifetime),
        ("csrf_token_expires_in", node.login_time),
        ("code_verifier_token_expires_in", node.login_time),
    ):
        if seconds is not None:
            yield field, seconds


def _write_cookies(target: pb.CookieConfigs, wanted: SameSite | None) -> None:
    if wanted is None:
        return
    for field in _LASTING:
        getattr(target, field).same_site = _SAME_SITE[wanted]
    for field in _PASSING:
        getattr(target, field).same_site = _SAME_SITE["Lax" if wanted == "Strict" else wanted]


def _write_retry(target: pb.OAuth2Config, node: nodes.LoginRetry) -> None:
    policy_ = target.retry_policy
    policy_.retry_on = ",".join(node.on)
    policy_.num_retries.value = node.attempts
    if node.backoff is not None:
        longest = node.backoff * 10 if node.max_backoff is None else node.max_backoff
        policy_.retry_back_off.base_interval.CopyFrom(encoding.seconds(node.backoff))
        policy_.retry_back_off.max_interval.CopyFrom(encoding.seconds(longest))
