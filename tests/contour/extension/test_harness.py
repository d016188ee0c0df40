"""An extension tried out on manifests, by the command that people use."""

import json
from pathlib import Path

import pytest
from envoy_data_plane.envoy.config.core.v3 import HeaderValue, HeaderValueOption
from envoy_data_plane.envoy.config.route.v3 import VirtualHost

from contour.extension import Extension, InvalidError, TranslateError, translated
from contour.extension.examples.header_filter import HeaderFilter
from tests.golang import ROOT

QUICKSTART = ROOT / "manifests/examples/quickstart"


class Tagging(Extension):
    """Adds a header with its name to each host."""

    async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost:
        header = HeaderValue(key="x-host", value=virtual_host.name)
        virtual_host.response_headers_to_add.append(HeaderValueOption(header=header))
        return virtual_host


async def test_the_output_has_what_the_extension_modifies() -> None:
    text = await translated(Tagging(), QUICKSTART, hooks=["VirtualHost"], options=["-t", "route"])
    hosts = [it for table in json.loads(text)["routes"] for it in table.get("virtual_hosts", ())]
    tagged = {
        option["header"]["value"]
        for host in hosts
        for option in host.get("response_headers_to_add", ())
        if option["header"]["key"] == "x-host"
    }
    assert len(tagged) > 3


ROUTE = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  extensions:
  - name: headers
    hooks: {post: [Route]}
    resources: [{group: headers.example.com, version: v1, kind: HeaderFilter}]
    service: {host: headers.invalid}
---
apiVersion: headers.example.com/v1
kind: HeaderFilter
metadata: {name: own}
spec: {response: {set: {x-own: "1"}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: contour, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: site}
spec:
  parentRefs: [{name: web}]
  rules:
  - filters:
    - type: ExtensionRef
      extensionRef: {group: headers.example.com, kind: HeaderFilter, name: own}
    - {type: RequestRedirect, requestRedirect: {hostname: elsewhere.example.com}}
"""


async def test_routes_are_modified_by_the_objects_they_refer_to(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(ROUTE)
    text = await translated(HeaderFilter(), manifests, options=["-t", "route"])
    assert '"x-own"' in text


class Failing(Extension):
    """Fails for every host."""

    async def virtual_host(self, virtual_host: VirtualHost) -> None:
        raise InvalidError("no team has this host")


@pytest.mark.parametrize(
    ("hooks", "options", "said"),
    [
        (["VirtualHost"], [], "no team has this host"),
        (["VirtualHost"], ["--no-such-option"], "No such option"),
        ([], [], "no ContourConfiguration registers an extension"),
    ],
)
async def test_what_fails_is_raised(hooks: list[str], options: list[str], said: str) -> None:
    with pytest.raises(TranslateError, match=said):
        await translated(Failing(), QUICKSTART, hooks=hooks, options=options)
