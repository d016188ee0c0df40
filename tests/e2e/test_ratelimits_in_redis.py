"""`contour run` counts in a real Redis, over TLS and with a password."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e import standalone
from tests.e2e.standalone import Standalone, manifest
from tests.testbed import certificates, processes, ratelimit
from tests.testbed.ratelimit import Redis

pytestmark = pytest.mark.envoy

URL = "http://limited.example.com/all"
PASSWORD = "p@ss:w/rd"
CONFIGURATION = """\
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: default}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  rateLimitFilters:
    failClosed: true
    redis:
      address: 127.0.0.1:%d
      tls: {caSecret: redis}
      passwordSecret: redis
"""
FILE = """\
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: projectcontour.io/gateway-controller}
rateLimit: {failClosed: true, backend: {type: Redis, redis: {url: '%s'}}}
"""
TOLD = "ContourConfiguration default/contour"


def _secret(authority: bytes, password: str) -> str:
    held = {"ca.crt": authority, "redis-password": f"default:{password}".encode()}
    data = {name: base64.b64encode(it).decode() for name, it in held.items()}
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: redis}}\ndata: {data}\n"


@contextmanager
def _running(folder: Path, redis: Redis, secret: str) -> Iterator[Standalone]:
    files = {name: manifest(name) for name in ("services.yaml", "limits.yaml")}
    files |= {"configuration.yaml": CONFIGURATION % redis.tls_port, "secret.yaml": secret}
    with standalone.standalone(folder, files) as it:
        processes.wait(
            lambda: it.status()["RateLimitFilter default/two"]["state"] == "ok", "the service"
        )
        yield it


def _counted(it: Standalone) -> int:
    """The answer to a request that could be counted within Envoy's patience."""
    found = [500]

    def ask() -> bool:
        found.append(it.ask(URL).status)
        return found[-1] != 500

    processes.wait(ask, "an answer")
    return found[-1]


def test_the_redis_of_a_configuration_file_counts(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as redis:
        config = tmp_path / "config.yaml"
        config.write_text(FILE % redis.address)
        files = {name: manifest(name) for name in ("services.yaml", "limits.yaml")}
        folder = tmp_path_factory.mktemp("instance")
        with standalone.standalone(folder, files, options=("-c", str(config))) as it:
            it.until_status(URL, 429)
        assert b"contour/" in redis.ask("KEYS", "*")


def test_counts_are_in_redis_and_outlive_the_process(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ratelimit.require()
    authority = certificates.authority()
    secret = _secret(authority.pem, PASSWORD)
    pair = certificates.issued(authority, "127.0.0.1")
    with ratelimit.redis(tmp_path, PASSWORD, pair) as redis:
        with _running(tmp_path_factory.mktemp("first"), redis, secret) as it:
            it.until_status(URL, 429)
        with _running(tmp_path_factory.mktemp("second"), redis, secret) as it:
            assert _counted(it) == 429, "counted by the process before"
            it.remove("secret.yaml")
            it.until_told(TOLD, "spec.rateLimitFilters.redis.passwordSecret")
            assert "Secret default/redis not found" in it.reasons("HTTPRoute default/limited")
            assert it.ask("http://limited.example.com/open").status == 200
            it.until_status(URL, 500)
            it.write("secret.yaml", _secret(authority.pem, "wrong"))
            processes.wait(lambda: it.reasons(TOLD) == "", "the Secret")
            it.until_status(URL, 500)  # Redis does not count, and failClosed holds
            it.write("secret.yaml", secret)
            it.until_status(URL, 429)
