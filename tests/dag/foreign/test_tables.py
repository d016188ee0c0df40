"""The tables of other controllers' annotations: what is a guard, and what of ours replaces it."""

from collections.abc import Iterator

import pytest

from crds import shape
from crds.contourconfiguration import ContourConfiguration
from crds.httpproxy import HTTPProxy
from dag.foreign import effects, known, own
from dag.foreign.effects import Annotation

NGINX = "nginx.ingress.kubernetes.io/"
TRAEFIK = "traefik.ingress.kubernetes.io/"
HAPROXY = "haproxy.org/"
SHARED = "ingress.kubernetes.io/"


@pytest.mark.parametrize(
    ("name", "value", "effect"),
    [
        (f"{NGINX}auth-type", "basic", "guard"),
        (f"{NGINX}whitelist-source-range", "10.0.0.0/8", "guard"),
        (f"{NGINX}whitelist-source-range", "0.0.0.0/0,::/0", None),
        (f"{NGINX}whitelist-source-range", ", ", "guard"),
        (f"{NGINX}whitelist-source-range", " ", None),
        (f"{NGINX}enable-modsecurity", "false", None),
        (f"{NGINX}limit-rps", "0", None),
        (f"{NGINX}configuration-snippet", "more_set_headers 'x: y';", "behaviour"),
        (f"{NGINX}configuration-snippet", "allow 10.0.0.0/8;\ndeny all;", "guard"),
        (f"{NGINX}configuration-snippet", "rewrite_by_lua_block { ngx.exit(403) }", "guard"),
        (f"{NGINX}configuration-snippet", "rewrite_by_lua_file /guard.lua;", "guard"),
        (f"{NGINX}configuration-snippet", " ", None),
        (f"{NGINX}server-snippet", "location /admin { return 403; }", "guard"),
        (f"{NGINX}server-snippet", "location /a { internal; }", "guard"),
        (f"{NGINX}rewrite-target", "/$1", "behaviour"),
        (f"{NGINX}proxy-buffer-size", "8k", "harmless"),
        (f"{NGINX}auth-of-tomorrow", "x", "guard"),
        (f"{NGINX}Auth-Type", "basic", "guard"),
        (f"{NGINX}shiny", "x", "behaviour"),
        (f"{HAPROXY}allow-list", "10.0.0.1", "guard"),
        ("haproxy.com/deny-list", "10.0.0.1", "guard"),
        (f"{HAPROXY}backend-config-snippet", "http-request deny if { src 10.0.0.1 }", "guard"),
        (f"{HAPROXY}config-snippet", "timeout tunnel 1h", "behaviour"),
        ("haproxy-ingress.github.io/auth-secret", "users", "guard"),
        ("haproxy-ingress.github.io/allowlist-source-range", "0.0.0.0/0,!10.0.0.0/8", "guard"),
        ("haproxy-ingress.github.io/denylist-source-range", "0.0.0.0/0", "guard"),
        ("haproxy-ingress.github.io/config-backend-early", "http-request deny if x", "guard"),
        ("haproxy-ingress.github.io/balance-algorithm", "leastconn", "behaviour"),
        (f"{TRAEFIK}router.middlewares", "default-auth@kubernetescrd", "guard"),
        (f"{TRAEFIK}router.entrypoints", "web, websecure", None),
        (f"{TRAEFIK}router.entrypoints", "internal", "guard"),
        (f"{TRAEFIK}router.tls.domains.12.main", "a.com", "behaviour"),
        (f"{SHARED}auth-tls-secret", "ca", "guard"),
        ("nginx.org/basic-auth-secret", "users", "guard"),
        ("nginx.org/policies", "webapp-policy-allow", "guard"),
        ("nginx.com/policies", "waf-policy", "guard"),
        ("appprotect.f5.com/app-protect-enable", "True", "guard"),
        ("appprotect.f5.com/app-protect-enable", "False", None),
        ("nginx.org/location-snippets", "allow 10.0.0.0/8;\ndeny all;", "guard"),
        ("nginx.org/server-snippets", "tcp_nodelay off;", "behaviour"),
        ("example.com/auth-type", "basic", None),
        ("kubernetes.io/ingress.class", "contour", None),
    ],
)
def test_an_annotation_has_the_effect_that_its_project_documents(
    name: str, value: str, effect: str | None
) -> None:
    found = known.foreign({name: value}, frozenset())
    assert [it.effect for it in found] == [it for it in [effect] if it]


def test_what_is_ours_is_nobody_elses() -> None:
    name = f"{SHARED}force-ssl-redirect"
    assert known.foreign({name: "true"}, own.OURS["Ingress"]) == ()
    assert known.foreign({name: "true"}, own.OURS["HTTPProxy"]) != ()


def _entries() -> Iterator[Annotation]:
    for project in known.PROJECTS.values():
        for table in project.tables:
            yield from table.values()


MODELS = {"HTTPProxy": HTTPProxy, "ContourConfiguration": ContourConfiguration}


@pytest.mark.parametrize("instead", sorted({it.instead for it in _entries()} - {""}))
def test_what_replaces_an_annotation_exists(instead: str) -> None:
    holder, _, path = instead.partition(" ")
    if holder in MODELS:
        model: type | None = MODELS[holder]
        for step in path.replace("[]", "").split("."):
            assert model is not None
            assert step in shape.fields(model), instead
            model = shape.fields(model)[step].model
    elif holder in {"annotation", "Service"}:
        kind = "Ingress" if holder == "annotation" else "Service"
        name = next(it for it in path.replace(",", " ").split() if "/" in it)
        assert name in own.OURS[kind]


def test_every_guard_looks_at_its_value() -> None:
    for it in _entries():
        assert it.effect != "guard" or it.effect_of("") is None or it.guards is effects.is_on
