"""Key sets of an instance in a cluster: kept over restarts, with the rights that we ship."""

import contextlib
import http.client
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.keeping import ownership
from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance, Served
from tests.e2e.standalone import exchange
from tests.e2e.test_serve import CONFIGURATION, SERVICES
from tests.features import keys
from tests.testbed import certificates, keyserver, tokens
from tests.testbed.keyserver import KeyServer

pytestmark = [pytest.mark.envoy, pytest.mark.cluster, pytest.mark.timeout(600)]

PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: site}
spec:
  virtualhost:
    fqdn: site.example.com
    jwtProviders:
    - {name: own, default: true, remoteJWKS: {uri: "https://$ip:$keys/one", cacheDuration: 1s}}
  routes: [{services: [{name: one, port: 80}]}]
"""
LATER = 30
"""Requests with valid tokens, one after the other, after all replicas have been replaced."""


@pytest.fixture
def server() -> Iterator[KeyServer]:
    address = incluster.own_address()
    answers = {"/one": tokens.jwks().encode()}
    with keyserver.in_thread(answers, certificates.self_signed(address), address) as found:
        yield found


@pytest.fixture
def instance(
    cluster: Cluster, namespace: str, tmp_path: Path, server: KeyServer
) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path) as found:
        found.ports["keys"] = server.port
        yield found


def stored(instance: Instance) -> list[str]:
    """The key sets that are kept, by the labels of the instance."""
    labels = {ownership.NAMESPACE: instance.namespace, ownership.MAKER: "contour-keys"}
    path = f"/api/v1/namespaces/{instance.namespace}/configmaps"
    found = instance.cluster.ask("GET", path, labelSelector=ownership.selector(labels))
    return [it["data"]["jwks"] for it in found["items"]]


def answered(instance: Instance, token: str) -> int:
    """The status of a request with a token."""
    port = instance.envoys[0].ports["http"]
    headers = {"authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        return exchange(connection, "site.example.com", "/", "GET", headers).status


def end(instance: Instance, *ended: Served) -> None:
    """Ends these processes, or all of them, and makes room for others of their names."""
    for it in ended or [*instance.processes]:
        it.stop()
        instance.processes.remove(it)
        folder = instance.folder / it.name
        if folder.exists():
            folder.rename(instance.folder / f"ended-{uuid.uuid4()}")


def test_all_replicas_start_again_while_the_server_of_keys_is_away(
    instance: Instance, server: KeyServer
) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + PROXY)
    before = [instance.start_replica(), instance.start_replica()]
    instance.start_envoy(before[0])
    instance.until_ready()
    instance.until(lambda: answered(instance, tokens.token()) == 200, "the token to be accepted")
    instance.until(lambda: len(stored(instance)) == 1, "the key set to be kept")

    newer = keys.jwks()
    server.answers["/one"] = newer.encode()
    instance.until(lambda: stored(instance) == [compact(newer)], "the newer key set to be kept")

    server.answers["/one"] = 60.0
    end(instance)
    after = [instance.start_replica(), instance.start_replica()]
    instance.until_ready()
    statuses = set[int]()
    for replica in after:
        instance.start_envoy(replica)
        instance.until_ready()
        for token in (tokens.token(), keys.of_other("issuer")):
            statuses |= {answered(instance, token) for _ in range(LATER)}
        assert answered(instance, tokens.token(exp=int(time.time()) - 3600)) == 401
        end(instance, *instance.envoys)
    assert statuses == {200}


def compact(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


def test_a_key_set_that_somebody_changes_is_put_right_and_followers_have_the_leaders(
    instance: Instance, server: KeyServer
) -> None:
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + PROXY.replace("1s", "300s"))
    replicas = [instance.start_replica(), instance.start_replica()]
    instance.until_ready()
    instance.until(lambda: len(stored(instance)) == 1, "the key set to be kept")
    asked = server.asked["/one"]
    assert asked <= 2 * len(replicas)
    (name,) = _names(instance)
    patch = json.dumps({"data": {"jwks": keys.other_jwks()}})
    found = instance.cluster.kubectl(
        "patch", "-n", instance.namespace, name, "--type", "merge", "-p", patch
    )
    assert found.returncode == 0, found.stderr
    instance.until(lambda: stored(instance) == [compact(tokens.jwks())], "it to be put right")


def _names(instance: Instance) -> list[str]:
    labels = ownership.selector({ownership.MAKER: "contour-keys"})
    found = instance.cluster.kubectl(
        "get", "configmaps", "-n", instance.namespace, "-l", labels, "-o", "name"
    )
    return found.stdout.split()
