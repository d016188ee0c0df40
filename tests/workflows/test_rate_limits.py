"""RateLimitFilters in a cluster: the instance makes the real rate limit service, which counts in a
Redis with TLS and a password, for all Envoys, and removes it with the last route that needs it."""

import json

import pytest

from contour.infrastructure import counters
from tests.pods.images import Image
from tests.testbed import certificates, ratelimit
from tests.workflows.instances import Instance, installed
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


@pytest.fixture
def limiting(site: Site) -> Site:
    """With the kind, and with images of Redis and of the service."""
    ratelimit.require()
    program = ratelimit.SERVICE.path
    paths = f"{program.parent}:/usr/bin"
    site.pods.known("*envoyproxy/ratelimit:*", Image(["ratelimit"], {"PATH": paths}, [program]))
    site.pods.known("example/redis:*", Image(["redis-server"], {"PATH": "/usr/bin"}))
    kinds = str(MANIFESTS / "optional" / "gateway.envoyproxy.io.yaml")
    site.kubectl("apply", "--server-side", "-f", kinds)
    return site


def test_an_instance_makes_the_service_that_counts_for_all_envoys(limiting: Site) -> None:
    instance = installed(limiting, "managed.yaml", gateway=True)
    instance.configure({"rateLimitFilters": SETTINGS})
    _limit(instance)
    limiting.until_told(instance.address, HOST, told=LIMITED)
    found = [limiting.ask(instance.address, HOST) for _ in range(8)]
    assert found == [LIMITED] * 8, "there are two Envoys, and each of them counts for both"
    _is_told(instance)
    _is_repaired(instance)
    limiting.kubectl("delete", "httproute", "limited", "-n", "default")
    limiting.until(lambda: _made(instance), lambda it: not it)


def _limit(instance: Instance) -> None:
    authority = certificates.authority()
    pair = certificates.issued(authority, "redis.default")
    instance.site.apply(
        "limits.yaml",
        namespace="default",
        home=instance.namespace,
        certificate=json.dumps(pair.pem.decode()),
        key=json.dumps(pair.key_pem.decode()),
        authority=json.dumps(authority.pem.decode()),
        password="s3cret",
    )


def _is_told(instance: Instance) -> None:
    """The filter is programmed: Envoys and the service have it."""

    def conditions() -> dict[str, str]:
        status = instance.site.get("ratelimitfilter", "default", "few").get("status", {})
        found = [it for each in status.get("ancestors", ()) for it in each["conditions"]]
        return {it["type"]: it["status"] for it in found}

    instance.site.until(conditions, lambda it: it == {"Accepted": "True", "Programmed": "True"})
    instance.site.until_condition("contourconfiguration", instance.namespace, "contour", "Valid")


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


def _made(instance: Instance) -> list[str]:
    """All objects of the service; Secrets go with its ServiceAccount."""
    mark = f"app.kubernetes.io/managed-by={counters.MAKER}"
    kinds = (*(it.lower() for it in counters.KINDS), "secret")
    return instance.site.objects(kinds, mark)
