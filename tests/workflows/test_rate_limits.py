"""RateLimitFilters in a cluster, counted for all Envoys: by the real rate limit service, which the
instance makes and which counts in a Redis with TLS and a password, or, without a Redis, by the
replica that leads. What was made is removed with the last route that needs it."""

import json
from pathlib import Path

import pytest

from contour.infrastructure import ratelimitservice
from tests.pods.images import Image
from tests.testbed import certificates, ratelimit
from tests.workflows.instances import Instance, installed, with_file
from tests.workflows.site import MANIFESTS, Site, Told

HOST, LIMITED = "limited.example.com", Told(429)
PAY = Told(200, "pay")
NAME = "contour-ratelimit"
SETTINGS = {
    "redis": {
        "address": "redis.default:6379",
        "tls": {"caSecret": "redis"},
        "passwordSecret": "redis",
    },
    "service": {"replicas": 2},
}


@pytest.fixture(scope="module")
def instance(shared_site: Site) -> Instance:
    """One that makes its Envoys."""
    _prepare(shared_site)
    return installed(shared_site, "managed.yaml", gateway=True)


def _prepare(site: Site) -> None:
    """With the kind, and images of Redis and of the service."""
    ratelimit.require()
    site.kubectl(
        "apply", "--server-side", "-f", str(MANIFESTS / "optional" / "gateway.envoyproxy.io.yaml")
    )
    program = ratelimit.SERVICE.path
    paths = f"{program.parent}:/usr/bin"
    site.pods.known("*envoyproxy/ratelimit:*", Image(["ratelimit"], {"PATH": paths}, [program]))
    site.pods.known("example/redis:*", Image(["redis-server"], {"PATH": "/usr/bin"}))


def test_an_instance_makes_the_service_that_counts_for_all_envoys(instance: Instance) -> None:
    site = instance.site
    instance.configure({"rateLimitFilters": SETTINGS})
    _store(instance)
    _limit(instance)
    site.until_told(instance.address, HOST, told=LIMITED)
    found = [site.ask(instance.address, HOST) for _ in range(8)]
    assert found == [LIMITED] * 8, "there are two Envoys, and each of them counts for both"
    _is_told(instance)
    _is_repaired(instance)
    _is_removed(instance)


def test_without_redis_the_replica_that_leads_counts_for_all_envoys(instance: Instance) -> None:
    site = instance.site
    instance.configure({"rateLimitFilters": {"redis": None, "service": {}}})
    _limit(instance)
    site.until(lambda: _counting(instance), bool)
    site.until_told(instance.address, HOST, told=LIMITED)
    found = [site.ask(instance.address, HOST) for _ in range(8)]
    assert found == [LIMITED] * 8, "there are two Envoys, and the leader counts for both"
    _is_told(instance)
    leader = _counting(instance)
    site.kubectl("delete", "pod", leader, "-n", instance.namespace)
    site.until(lambda: _counting(instance), lambda it: it not in {"", leader})
    site.until_told(instance.address, HOST, told=LIMITED)
    _is_removed(instance)


def test_the_file_of_envoy_gateway_has_the_service_made(site: Site, tmp_path: Path) -> None:
    """Envoys of a Gateway count by it, as long as the file has `rateLimit`."""
    _prepare(site)
    file = tmp_path / "envoy-gateway.yaml"
    file.write_text(FILE + LIMITS)
    instance = with_file(site, file)
    for name in ("plainredis", "backends", "envoygateway", "limits"):
        site.apply(f"{name}.yaml", namespace="default")
    address = site.pods.address("default", "web-eg")
    site.until_told(address, HOST, told=LIMITED)
    found = [site.ask(address, HOST) for _ in range(8)]
    assert found == [LIMITED] * 8, "there are two Envoys, and each of them counts for both"
    _is_programmed(instance)
    assert f"deployment.apps/{NAME}" in site.kubectl("get", "deploy", "-A", "-o", "name")
    file.write_text(FILE)
    with_file(site, file)
    site.until(lambda: _made(instance), lambda it: not it)
    site.until_condition("httproute", "default", "limited", "Accepted", "False")


PAGE = (MANIFESTS.parent / "docs" / "coming-from-envoy-gateway.md").read_text()
FILE = PAGE.split("```yaml\n")[1].partition("```")[0]
LIMITS = "rateLimit: {backend: {type: Redis, redis: {url: 'redis.default:6379'}}}\n"


def _counting(instance: Instance) -> str:
    """The name of the pod that is asked; empty if there is none."""
    found = instance.site.get("endpointslice", instance.namespace, f"{NAME}-leader")
    asked = [it for each in found.get("endpoints", ()) for it in each["addresses"]]
    pods = instance.site.pods.all(instance.namespace, "app=contour")
    return next((it["metadata"]["name"] for it in pods if it["status"].get("podIP") in asked), "")


def _limit(instance: Instance) -> None:
    instance.site.apply("limits.yaml", namespace="default")


def _store(instance: Instance) -> None:
    authority = certificates.authority()
    pair = certificates.issued(authority, "redis.default")
    instance.site.apply(
        "redis.yaml",
        namespace="default",
        home=instance.namespace,
        certificate=json.dumps(pair.pem.decode()),
        key=json.dumps(pair.key_pem.decode()),
        authority=json.dumps(authority.pem.decode()),
        password="s3cret",
    )


def _is_told(instance: Instance) -> None:
    """The filter is programmed, and nothing is wrong with the configuration."""
    _is_programmed(instance)
    instance.site.until_condition("contourconfiguration", instance.namespace, "contour", "Valid")


def _is_programmed(instance: Instance) -> None:
    """Envoys and the service have the filter."""

    def conditions() -> dict[str, str]:
        status = instance.site.get("ratelimitfilter", "default", "few").get("status", {})
        found = [it for each in status.get("ancestors", ()) for it in each["conditions"]]
        return {it["type"]: it["status"] for it in found}

    instance.site.until(conditions, lambda it: it == {"Accepted": "True", "Programmed": "True"})


def _is_repaired(instance: Instance) -> None:
    """What is removed is there again, and requests are counted meanwhile or not at all."""
    site, where = instance.site, instance.namespace
    for kind in ("deployment", "service"):
        uid = site.get(kind, where, NAME)["metadata"]["uid"]
        site.kubectl("delete", kind, NAME, "-n", where)
        site.until(
            lambda k=kind: site.get(k, where, NAME).get("metadata", {}).get("uid"),  # type: ignore[misc]
            lambda it, u=uid: it not in (None, u),  # type: ignore[misc]
        )
    site.until_told(instance.address, HOST, told=LIMITED)


def _is_removed(instance: Instance) -> None:
    """With the last route that needs it; the configuration then says nothing of it any more."""
    instance.site.kubectl("delete", "httproute", "limited", "-n", "default")
    instance.site.until(lambda: _made(instance), lambda it: not it)
    instance.configure({"rateLimitFilters": None})


def _made(instance: Instance) -> list[str]:
    """All objects of the service; Secrets go with its ServiceAccount."""
    mark = f"app.kubernetes.io/managed-by={ratelimitservice.MAKER}"
    kinds = (*(it.lower() for it in ratelimitservice.KINDS), "endpointslice", "secret")
    return instance.site.objects(kinds, mark)
