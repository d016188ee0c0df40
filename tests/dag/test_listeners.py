"""Where hosts of Ingress and HTTPProxy live beside a Gateway; who is told if that is nowhere."""

import pytest

from dag.engine.incremental import Engine
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, http, https, listener
from tests.dag.httpproxy.manifests import root, services, tls_root, to
from tests.dag.ingress.manifests import ingress, path, rule
from tests.dag.world import apply, delete, messages, routes, world
from tests.testbed import pairs

MANAGED = "networkPublishing: {type: ClusterIPService}"
SAID = "externalPorts: {http: 80, https: 443}"
HOSTS = (
    services("s1")
    + pairs.secret("cert")
    + gateway_class()
    + tls_root("secure", f"routes: [{to('s1')}]", fqdn="secure.com")
    + root("plain", f"routes: [{to('s1')}]", fqdn="plain.com")
    + ingress(
        "i",
        f"rules: [{rule('i.com', path('/', 's1'))}], tls: [{{hosts: [i.com], secretName: cert}}]",
        annotations="ingress.kubernetes.io/force-ssl-redirect: 'true'",
    )
)
NO_HTTPS = (
    "?ListenerError/ErrorIdentifyingListener: spec{}: not served over HTTPS: Gateway default/gw"
    " has no HTTPS listener; add one, or set spec.envoy.externalPorts of the ContourConfiguration"
)
DECIDES = (
    "?ListenerError/ErrorIdentifyingListener: spec.envoy.externalPorts: hosts of Ingress and"
    " HTTPProxy are not served over HTTPS: Gateway default/gw decides the ports and has none"
)


def told(engine: Engine) -> dict[str, list[str]]:
    """What is told, by object; only where there is something."""
    every = {
        "secure": messages(engine, "HTTPProxy", "secure"),
        "plain": messages(engine, "HTTPProxy", "plain"),
        "i": messages(engine, "Ingress", "i"),
        "configuration": messages(engine, "ContourConfiguration", "projectcontour/contour"),
    }
    return {key: it for key, it in every.items() if it}


def test_hosts_that_a_gateway_leaves_without_tls_are_told_and_not_redirected_to_nowhere() -> None:
    engine = world(HOSTS + configuration(f"envoy: {{{MANAGED}}}"))
    assert told(engine) == {}
    assert routes(engine, "secure.com") == routes(engine, "i.com") == ["/ -> 301 https"]
    apply(engine, gateway("gw", http()))
    assert told(engine) == {
        "secure": [NO_HTTPS.format(".virtualhost")],
        "i": [NO_HTTPS.format("")],
        "configuration": [DECIDES],
    }
    assert routes(engine, "secure.com") == ["/ -> 503"]
    assert routes(engine, "i.com") == ["/ -> 503"]
    assert routes(engine, "plain.com") == ["/ -> default/s1:80"]
    delete(engine, "Gateway", "gw")
    assert told(engine) == {}
    assert routes(engine, "secure.com") == routes(engine, "i.com") == ["/ -> 301 https"]


@pytest.mark.parametrize(
    ("envoy", "listeners", "redirect"),
    [
        (MANAGED, (http(), https(port=8443)), "/ -> 301 https 8443"),
        (f"{MANAGED}, {SAID}", (http(),), "/ -> 301 https"),
        (f"{MANAGED}, {SAID}", (http(), https(port=8443)), "/ -> 301 https"),
        ("", (http(),), "/ -> 301 https"),  # its Service is for others to say
        (f"{MANAGED}, managed: false", (http(),), "/ -> 301 https"),
    ],
)
def test_a_redirect_leads_to_a_port_that_is_served(
    envoy: str, listeners: tuple[str, ...], redirect: str
) -> None:
    engine = world(HOSTS + configuration(f"envoy: {{{envoy}}}") + gateway("gw", *listeners))
    assert routes(engine, "secure.com") == routes(engine, "i.com") == [redirect]
    assert told(engine) == {}


def test_hosts_without_plain_http_are_told() -> None:
    engine = world(
        HOSTS + configuration(f"envoy: {{{MANAGED}}}") + gateway("gw", listener("db", 80, "TCP"))
    )
    assert [*told(engine)] == ["secure", "plain", "i", "configuration"]
    assert "not served over HTTP: Gateway default/gw has no HTTP listener" in str(
        told(engine)["plain"]
    )
    assert len(told(engine)["configuration"]) == 2
    for name, count in (("secure", 1), ("plain", 0)):
        delete(engine, "HTTPProxy", name)
        assert len(messages(engine, "ContourConfiguration", "projectcontour/contour")) == 1 + count
