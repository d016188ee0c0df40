"""A field of a node that the evaluation does not know of would make it wrong without a word."""

from dataclasses import fields

import pytest

from dag import nodes

KNOWN: dict[type, set[str]] = {
    nodes.VirtualHost: {
        "host", "routes", "origins", "policies", "jwt_providers", "is_fallback", "server_names",
    },
    nodes.Route: {
        "match", "action", "origin", "request_headers", "response_headers", "policies",
        "extensions", "attached", "rule", "section",
    },
    nodes.Match: {"path", "method", "headers", "queries", "is_grpc", "drawn", "cookies"},
    nodes.HeaderMatch: {"name", "value", "inverted", "missing_as_empty"},
    nodes.ValueMatch: {"operator", "value", "ignore_case"},
    nodes.QueryMatch: {"name", "value"},
    nodes.Forward: {
        "backends", "timeout", "idle_timeout", "rewrite", "retry", "websockets", "mirrors",
        "hash_policies", "internal_redirect", "cookies", "missing",
        "try_timeout",
    },
    nodes.Backend: {
        "cluster", "weight", "request_headers", "response_headers", "host", "cookies", "session",
    },
    nodes.Rewrite: {
        "host", "full_path", "prefix", "host_header", "host_from_path", "host_of_endpoint",
        "tells_host", "path",
    },
    nodes.Redirect: {"status", "scheme", "host", "port", "full_path", "prefix"},
    nodes.Respond: {"status", "body", "headers"},
    nodes.Policies: {
        "cors", "ip_filter", "jwt", "authorization", "local_rate_limit", "rate_limits", "limits",
        "access", "body_limit", "error_pages", "session", "authentication",
        "csrf", "fault", "compressors", "login",
    },
    nodes.Fault: {"delay", "delayed", "status", "grpc_status", "aborted"},
    nodes.Csrf: {"origins", "enforced"},
    nodes.Authentication: {"source", "key_sources", "has_passwords"},
    nodes.KeySource: {"kind", "name"},
    nodes.Login: {
        "source", "client_id", "endpoints", "cluster", "redirect", "callback", "logout", "cookies",
        "scopes", "resources", "domain", "same_site", "denied", "passed", "forwards_access_token",
        "id_token_header", "lifetime", "refreshes", "refresh_lifetime", "login_time", "is_plain",
        "retry",
    },
    nodes.Jwt: {"provider", "source", "leniency"},
    nodes.Access: {"rules", "default"},
    nodes.AccessRule: {
        "action", "methods", "path", "is_other_path", "ranges", "headers", "claims",
    },
    nodes.HeaderPolicy: {"set", "add", "remove"},
    nodes.SecureHost: {"tls", "origins", "stream"},
    nodes.ListenerFilter: {"name", "host", "exceptions", "authorization", "origin"},
}  # fmt: skip
"""By node: the fields of which `dag.evaluation` says what they do to a request."""


@pytest.mark.parametrize("node", KNOWN, ids=lambda it: it.__name__)
def test_the_evaluation_knows_every_field(node: type) -> None:
    assert {it.name for it in fields(node)} == KNOWN[node]
