"""Whatever the reader takes of key sets, Envoy takes."""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
import yaml
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as pb
from google.protobuf import json_format

from contour.envoy.guards import tokens
from contour.host import installation
from crds.meta import ObjectRef
from dag import nodes
from dag.references import jwks
from tests.agreement import configurations, live
from tests.testbed import keysets
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SETS = keysets.TAKEN | keysets.REFUSED | keysets.STRICTER
CHANGED = 2000
_CHARACTERS = '{}[]",:+-/=_.\\0159eEuNaA \n\x00\x7f\xe9'
_API = "type.googleapis.com/envoy.extensions.filters"


def envoy_refusal(folder: Path, sets: Mapping[str, str]) -> str:
    """What Envoy says of providers with these sets; empty if it takes all."""
    path = folder / "bootstrap.json"
    path.write_text(json.dumps(_bootstrap(sets)))
    done = subprocess.run(
        [
            *(installation.binary(), "--mode", "validate", "--disable-hot-restart"),
            *("--log-level", "critical", "--config-path", path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.stderr}{done.stdout}" if done.returncode else ""


def _bootstrap(sets: Mapping[str, str]) -> object:
    providers = [(nodes.JwtProvider(it, nodes.LocalJwks(keys)), keys) for it, keys in sets.items()]
    body = pb.JwtAuthentication.FromString(tokens.requirement(tokens.Required("any"), providers))
    manager = {
        "@type": f"{_API}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "keys",
        "route_config": {},
        "http_filters": [
            {"name": tokens.NAME, "typed_config": _typed("jwt_authn.v3.JwtAuthentication", body)},
            {"name": "router", "typed_config": {"@type": f"{_API}.http.router.v3.Router"}},
        ],
    }
    listener = {
        "name": "keys",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    return {"static_resources": {"listeners": [listener]}}


def _typed(kind: str, body: pb.JwtAuthentication) -> object:
    return {"@type": f"{_API}.http.{kind}", **json_format.MessageToDict(body)}


def is_taken(keys: str) -> bool:
    """By the reader. Sets that are not UTF-8 come to no Envoy."""
    return jwks.refusal(keys.encode()) is None


def changed(keys: str, chance: Random) -> str:
    """The set with another character somewhere, or with one more, or one less."""
    at, gone = chance.randrange(len(keys)), chance.randrange(2)
    new: str = chance.choice(["", *_CHARACTERS])
    return f"{keys[:at]}{new}{keys[at + gone :]}"


def test_envoy_takes_every_set_that_the_reader_takes(tmp_path: Path) -> None:
    chance, small = Random(1), [it for it in keysets.TAKEN.values() if len(it) < 1000]
    made = {f"changed {it}": changed(chance.choice(small), chance) for it in range(CHANGED)}
    taken = {name: keys for name, keys in (SETS | made).items() if is_taken(keys)}
    assert len(taken) > CHANGED / 10
    assert envoy_refusal(tmp_path, taken) == ""


def test_the_reader_takes_of_a_server_what_envoy_takes(tmp_path: Path) -> None:
    taken = {name: jwks.readable(keys.encode()) for name, keys in keysets.TAKEN.items()}
    assert envoy_refusal(tmp_path, taken) == ""


@pytest.mark.parametrize("name", keysets.REFUSED)
def test_envoy_refuses_what_the_table_says(tmp_path: Path, name: str) -> None:
    assert "invalid local jwks" in envoy_refusal(tmp_path, {name: keysets.REFUSED[name]})


_PROXY = """
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: default}
stringData: {jwks: '%s'}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: root, namespace: default}
spec:
  virtualhost:
    fqdn: keys.example.com
    jwtProviders: [{name: one, default: true, localJWKS: {secretName: keys, key: jwks}}]
  routes: [{services: [{name: s1, port: 80}]}]
"""


async def test_an_httpproxy_is_told_what_envoy_refuses_of_its_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_: bytes) -> None:
        """Takes any set."""

    monkeypatch.setattr(jwks, "refusal", nothing)
    async with live.live(tmp_path, free_ports(configurations.PORTS)) as running:
        running.take(yaml.safe_load_all(_PROXY % keysets.REFUSED["exponent 17"]))
        await running.settled()
        told = running.instance.controller.board.told
        async with asyncio.timeout(10):
            while "Jwks RSA" not in str(told.get(ObjectRef("HTTPProxy", "default", "root"))):
                await asyncio.sleep(0.01)
