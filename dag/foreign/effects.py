"""What an annotation of another controller does there, and whether its value switches it on.

A *guard* decides who may send requests, from where and how often. Ignoring it would open what it
guards, so it counts unless its value clearly guards nothing. A *behaviour* changes answers and
opens nothing. A *harmless* annotation tunes the other program, or is of no use here.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

Effect = Literal["guard", "behaviour", "harmless"]


class Annotation(NamedTuple):
    """What one annotation does."""

    effect: Effect
    instead: str = ""
    """The field or annotation of ours with the same purpose; empty if there is none."""
    guards: Callable[[str], bool] = lambda _: False
    """Whether this value guards anything."""
    otherwise: Effect | None = None
    """The effect of a guard whose value is set, but guards nothing; None: no effect is missing."""

    def effect_of(self, value: str) -> Effect | None:
        """The effect of this value; None if nothing is missing when it is ignored."""
        if self.effect != "guard" or self.guards(value):
            return self.effect
        return self.otherwise if value.strip() else None


Table = Mapping[str, Annotation]
"""By the name after the prefix, in lower case."""


def is_on(value: str) -> bool:
    """Whether a value switches something on: any value that does not say off."""
    return value.strip().lower() not in _OFF


_OFF = frozenset({"", "false", "off", "no", "none", "0", "disabled"})


def is_narrow(value: str) -> bool:
    """Whether a list of ranges keeps any address out; cert-manager writes one that does not.

    HAProxy Ingress takes ranges after `!` out of the others.
    """
    given = [it for it in re.split(r"[,\s]+", value) if it]
    has_exceptions = any(it.startswith("!") for it in given)
    return has_exceptions or (bool(value.strip()) and not any(map(_is_everything, given)))


def _is_everything(text: str) -> bool:
    try:
        return ipaddress.ip_network(text, strict=False).prefixlen == 0
    except ValueError:
        return False


def is_guarding_text(value: str) -> bool:
    """Whether a piece of nginx or HAProxy configuration has words that refuse requests."""
    return _REFUSING.search(value) is not None


_REFUSING = re.compile(
    r"\b(allow|deny|satisfy|auth_basic|auth_request|auth_jwt|auth_digest|auth_ldap|auth_pam|auth_gss"
    r"|limit_req|limit_conn|valid_referers|internal(?=\s*;)|ssl_verify_client|access_by_lua\w*"
    r"|\w*rewrite_by_lua_file|ngx\.exit|modsecurity\w*|secrule|secure_link"
    r"|return\s+(?:4\d\d|5\d\d)|http-request\s+(?:auth|reject|tarpit|silent-drop|return)"
    r"|tcp-request|http_auth\w*|acl|stick-table|reject|tarpit|block)\b",
    re.IGNORECASE,
)


def guard(names: str, instead: str = "", on: Callable[[str], bool] = is_on) -> Table:
    """Annotations that guard something, where their value says so."""
    return dict.fromkeys(names.split(), Annotation("guard", instead, on))


SNIPPET = Annotation("guard", guards=is_guarding_text, otherwise="behaviour")
"""A piece of configuration, which guards something or does other things."""


def snippets(names: str) -> Table:
    """Annotations with a piece of configuration."""
    return dict.fromkeys(names.split(), SNIPPET)


def behaviour(names: str, instead: str = "") -> Table:
    """Annotations that change what is answered."""
    return dict.fromkeys(names.split(), Annotation("behaviour", instead))


def harmless(names: str, instead: str = "") -> Table:
    """Annotations that need no counterpart."""
    return dict.fromkeys(names.split(), Annotation("harmless", instead))


AUTHORIZATION = "HTTPProxy spec.virtualhost.authorization"
ALLOW = "HTTPProxy spec.routes[].ipAllowPolicy"
DENY = "HTTPProxy spec.routes[].ipDenyPolicy"
LOCAL_LIMIT = "HTTPProxy spec.routes[].rateLimitPolicy.local"
GLOBAL_LIMIT = "HTTPProxy spec.routes[].rateLimitPolicy.global"
CLIENTS = "HTTPProxy spec.virtualhost.tls.clientValidation"
BALANCING = "HTTPProxy spec.routes[].loadBalancerPolicy"
CONDITIONS = "HTTPProxy spec.routes[].conditions"
CORS = "HTTPProxy spec.virtualhost.corsPolicy"
REDIRECT = "HTTPProxy spec.routes[].requestRedirectPolicy"
REWRITE = "HTTPProxy spec.routes[].pathRewritePolicy"
REQUEST_HEADERS = "HTTPProxy spec.routes[].requestHeadersPolicy"
RESPONSE_HEADERS = "HTTPProxy spec.routes[].responseHeadersPolicy"
COOKIES = "HTTPProxy spec.routes[].cookieRewritePolicies"
WEIGHT = "HTTPProxy spec.routes[].services[].weight"
MIRROR = "HTTPProxy spec.routes[].services[].mirror"
UPSTREAM_TLS = "HTTPProxy spec.routes[].services[].validation"
BODY = "HTTPProxy spec.routes[].maxRequestBytes"
PAGES = "HTTPProxy spec.routes[].errorPages"
HEALTH = "HTTPProxy spec.routes[].healthCheckPolicy"
ALIASES = "HTTPProxy spec.virtualhost.aliases"
PASSTHROUGH = "HTTPProxy spec.virtualhost.tls.passthrough"
TCP = "HTTPProxy spec.tcpproxy"
CIPHERS = "ContourConfiguration spec.envoy.listener.tls.cipherSuites"
TLS_VERSION = "annotation projectcontour.io/tls-minimum-protocol-version"
CONNECT_TIMEOUT = "ContourConfiguration spec.envoy.timeouts.connectTimeout"
TRACING = "ContourConfiguration spec.tracing"
LOGS = "ContourConfiguration spec.envoy.logging"
TIMEOUT = "annotation projectcontour.io/response-timeout"
RETRY = "annotation projectcontour.io/retry-on"
TO_HTTPS = "annotation ingress.kubernetes.io/force-ssl-redirect"
PROTOCOL = "Service annotations projectcontour.io/upstream-protocol.h2c, .h2 and .tls"
CONNECTIONS = "Service annotation projectcontour.io/max-connections"
"""The names of our fields and annotations that do the same."""
