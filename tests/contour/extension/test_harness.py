"""An extension tried out on manifests, by the command that people use."""

import json

import pytest
from envoy_data_plane.envoy.config.core.v3 import HeaderValue, HeaderValueOption
from envoy_data_plane.envoy.config.route.v3 import VirtualHost

from contour.extension import Extension, InvalidError, TranslateError, translated
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
