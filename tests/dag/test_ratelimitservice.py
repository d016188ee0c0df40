"""Which rate limit service an instance is to make, whom Envoys ask, and what its author is told."""

import base64

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import defaults, nodes, ratelimitclient, ratelimitservice, tables
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from dag.ports import HostPorts
from dag.references import redisaccess
from dag.statuses import ContourStatus
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, route, service
from tests.dag.gateway.test_ratelimitfilters import RULE, limited, limits
from tests.dag.world import apply, delete, world
from tests.testbed import certificates

HOME = "projectcontour"
NAMES = ratelimitclient.Provisioned(
    NamespacedName(HOME, "counter"),
    NamespacedName(HOME, "counter-leader"),
    NamespacedName(HOME, "counter"),
    NamespacedName(HOME, "counter-client"),
    "projectcontour://counter",
)
GIVEN = gateway_class() + gateway("gw") + service("s1") + limits(RULE)
REDIS = "{address: 'redis:6379', tls: {caSecret: redis}, passwordSecret: redis}"
ROUTE = route("r", limited("/"))


def secret(name: str, **content: bytes) -> str:
    data = {key.replace("_", "."): base64.b64encode(it).decode() for key, it in content.items()}
    named = {key.replace("redis.", "redis-"): it for key, it in data.items()}
    return (
        f"---\n{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: {HOME}}}, "
        f"type: kubernetes.io/tls, data: {named}}}\n"
    )


def certified(name: str) -> str:
    authority = certificates.known_authority()
    pair = certificates.issued(authority, name)
    return secret(name, tls_crt=pair.pem, tls_key=pair.key_pem, ca_crt=authority.pem)


def of_redis(password: bytes = b"secret") -> str:
    return secret("redis", ca_crt=certificates.known_authority().pem, redis_password=password)


def asking(redis: str = REDIS, more: str = "service: {}") -> str:
    return configuration(f"rateLimitFilters: {{redis: {redis}, {more}}}")


CERTIFIED = certified("counter") + certified("counter-client")


def made(*documents: str) -> Engine:
    """A world in a cluster."""
    found = world(GIVEN + "".join(documents))
    found.write(ratelimitclient.PROVISIONED, (), NAMES)
    found.settle()
    return found


def wanted(found: Engine) -> ratelimitservice.Wanted | None:
    return found.answer(ratelimitservice.wanted, ())


def errors(found: Engine, name: str = f"{HOME}/contour") -> list[str]:
    status = found.answer(STATUSES["ContourConfiguration"], NamespacedName(*name.split("/")))
    assert isinstance(status, ContourStatus)
    return [it.message for it in status.errors]


@pytest.mark.parametrize(
    ("documents", "is_there"),
    [
        ((asking(), ROUTE), True),
        ((asking(),), False),
        ((ROUTE,), False),
        ((asking(more="failClosed: true"), ROUTE), False),
        ((asking(), ROUTE.replace("name: it", "name: missing")), False),
        ((asking(), ROUTE.replace("name: gw", "name: none")), False),
    ],
)
def test_it_is_there_while_it_is_asked_for_and_a_route_of_ours_needs_it(
    documents: tuple[str, ...], is_there: bool
) -> None:
    assert (wanted(made(*documents)) is not None) is is_there


def test_it_goes_with_the_last_route_and_with_the_field() -> None:
    found = made(asking(), ROUTE, route("other", limited("/other")))
    for name, is_there in (("r", True), ("other", False)):
        delete(found, "HTTPRoute", name)
        assert (wanted(found) is not None) is is_there
    apply(found, ROUTE)
    assert wanted(found) is not None
    apply(found, configuration("enableExternalNameService: false"))
    assert wanted(found) is None


def test_its_state_changes_with_all_that_pods_read_when_they_start_and_with_nothing_else() -> None:
    found = made(asking(), ROUTE)
    states = [_state(found)]
    for it in (CERTIFIED, of_redis(), of_redis(b"other"), certified("counter")):
        apply(found, it)
        states.append(_state(found))
    assert states[:2] == ["", ""], "what is missing is waited for"
    assert len(set(states)) == 4
    for it in (certified("counter-client"), limits("{limit: {requests: 9, unit: Hour}}")):
        apply(found, it)
        assert _state(found) == states[-1]


def _state(found: Engine) -> str:
    it = wanted(found)
    assert it is not None
    return it.state


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("", ["tls.caSecret: Secret projectcontour/redis not found",
              "passwordSecret: Secret projectcontour/redis not found"]),
        (secret("redis", ca_crt=b""), ["tls.caSecret: Secret projectcontour/redis has no ca.crt",
              "passwordSecret: Secret projectcontour/redis has no redis-password"]),
        (of_redis(b"secret\n"), ["passwordSecret: the redis-password of Secret "
              "projectcontour/redis begins or ends with white space, such as a line break"]),
        (of_redis(), []),
    ],
)  # fmt: skip
def test_what_it_lacks_is_told(document: str, told: list[str]) -> None:
    found = made(asking(), ROUTE, CERTIFIED, document)
    assert errors(found) == sorted(f"spec.rateLimitFilters.redis.{it}" for it in told)


def test_envoys_ask_it_with_the_certificate_of_their_own_and_check_who_it_is() -> None:
    found = made(asking(), ROUTE, CERTIFIED)
    asked = found.ask(ratelimitclient.service, ())
    assert asked is not None
    assert isinstance(asked.cluster, nodes.ExtensionCluster)
    tls = asked.cluster.tls
    assert tls is not None
    assert tls.client_certificate == NAMES.client_certificate
    assert tls.names == (nodes.AlternativeName("URI", NAMES.identity),)
    assert tls.trust == nodes.Trust((ObjectRef("Secret", *NAMES.client_certificate),))
    assert found.ask(defaults.rate_limit_service, ()) is None


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        ((), "the rate limit service is not enabled"),
        ((asking(),), "the rate limit service is not ready: "
         "Secret projectcontour/counter-client not found"),
        ((asking(), CERTIFIED), ""),
    ],
)  # fmt: skip
def test_who_cannot_be_asked_yet_closes_rules_and_says_why(
    documents: tuple[str, ...], why: str
) -> None:
    found = made(*documents, ROUTE)
    assert found.ask(ratelimitclient.obstacle, ()) == why
    assert (found.ask(ratelimitclient.service, ()) is None) is bool(why)


def process(found: Engine) -> ratelimitservice.Process | None:
    return found.answer(ratelimitservice.process, ())


IN_MEMORY = configuration("rateLimitFilters: {service: {}}")


def test_without_redis_the_replica_that_leads_is_asked_and_its_author_told() -> None:
    found = made(IN_MEMORY, ROUTE, CERTIFIED)
    it = wanted(found)
    assert it is not None
    assert it.redis is None
    asked = found.ask(ratelimitclient.service, ())
    assert asked is not None
    assert isinstance(asked.cluster, nodes.ExtensionCluster)
    assert asked.cluster.name == NAMES.leader
    assert asked.cluster.tls is not None
    assert asked.cluster.tls.client_certificate == NAMES.client_certificate
    assert "in memory" in " ".join(warnings(found))


@pytest.mark.parametrize(
    ("documents", "is_there"),
    [
        ((IN_MEMORY, ROUTE, CERTIFIED), True),
        ((IN_MEMORY, ROUTE), False),
        ((IN_MEMORY, CERTIFIED), False),
        ((asking(), ROUTE, CERTIFIED, of_redis()), False),
        ((ROUTE, CERTIFIED), False),
    ],
)
def test_the_leader_counts_where_there_is_no_redis_once_it_is_certified(
    documents: tuple[str, ...], is_there: bool
) -> None:
    found = process(made(*documents))
    assert (found is not None) is is_there
    if found is not None:
        assert found.redis is None
        assert found.pair is not None
        assert found.authorities == certificates.known_authority().pem


@pytest.mark.parametrize(
    ("service", "unused"),
    [
        ("{}", []),
        ("{replicas: 3}", ["replicas"]),
        ("{image: 'mine:1', podAnnotations: {a: b}}", ["image", "podAnnotations"]),
    ],
)
def test_what_is_for_pods_has_no_effect_without_them(service: str, unused: list[str]) -> None:
    found = made(configuration(f"rateLimitFilters: {{service: {service}}}"), ROUTE, CERTIFIED)
    told = [it for it in warnings(found) if "has no effect" in it]
    assert [it.partition(" ")[0] for it in told] == [
        f"spec.rateLimitFilters.service.{it}:" for it in unused
    ]


def warnings(found: Engine) -> list[str]:
    status = found.answer(STATUSES["ContourConfiguration"], NamespacedName(HOME, "contour"))
    assert isinstance(status, ContourStatus)
    return [it.message for it in status.warnings]


def on_one_machine(*documents: str) -> Engine:
    """A world of `contour run`."""
    found = world(GIVEN + "".join(documents))
    found.write(ratelimitclient.SOCKET, (), "/run/limits")
    found.write(tables.HOST_PORTS, (), HostPorts("127.0.0.1"))
    found.settle()
    return found


def test_on_one_machine_a_process_counts_while_a_route_needs_it() -> None:
    found = on_one_machine(ROUTE)
    assert process(found) == ratelimitservice.Process()
    delete(found, "HTTPRoute", "r")
    assert process(found) is None


@pytest.mark.parametrize(
    ("redis", "password", "url"),
    [
        (REDIS, b"secret", "rediss://:secret@redis:6379"),
        (REDIS, b"secret\n", "rediss://:secret@redis:6379"),
        (REDIS, b"me:a/b", "rediss://me:a%2Fb@redis:6379"),
        ("{address: 'redis:6379', passwordSecret: redis}", b"a@b", "redis://:a%40b@redis:6379"),
        ("{address: 'redis:6379'}", b"", "redis://redis:6379"),
    ],
)
def test_on_one_machine_redis_counts(redis: str, password: bytes, url: str) -> None:
    found = process(on_one_machine(asking(redis, "failClosed: true"), ROUTE, of_redis(password)))
    assert found is not None
    assert found.redis is not None
    assert found.redis.url == url
    assert bool(found.redis.authority) is ("caSecret" in redis)


def test_on_one_machine_what_redis_lacks_closes_rules_and_is_told() -> None:
    found = on_one_machine(asking(more="failClosed: false"), ROUTE)
    assert process(found) is None
    why = "the rate limit service is not ready: Secret projectcontour/redis not found"
    assert found.ask(ratelimitclient.obstacle, ()) == why
    assert errors(found) == [
        f"spec.rateLimitFilters.redis.{it}: Secret projectcontour/redis not found"
        for it in ("passwordSecret", "tls.caSecret")
    ]
    apply(found, of_redis())
    assert process(found) is not None
    assert found.ask(ratelimitclient.obstacle, ()) == ""


def test_a_machine_that_can_ask_no_redis_closes_rules_and_says_why() -> None:
    found = on_one_machine(asking("{address: 'redis:6379'}", "failClosed: false"), ROUTE)
    assert process(found) is not None
    found.write(redisaccess.LACKING, (), "a package is missing")
    found.settle()
    assert process(found) is None
    why = "the rate limit service is not ready: a package is missing"
    assert found.ask(ratelimitclient.obstacle, ()) == why
    assert errors(found) == ["spec.rateLimitFilters.redis.address: a package is missing"]


def test_on_one_machine_the_process_beside_envoy_counts_and_the_field_is_said_to_do_nothing() -> (
    None
):
    found = on_one_machine(asking(), ROUTE, of_redis())
    assert wanted(found) is None
    asked = found.ask(ratelimitclient.service, ())
    assert asked is not None
    assert asked.cluster == nodes.LocalCluster("/run/limits")
    told = [it.partition(" on ")[0] for it in warnings(found)]
    assert told == ["spec.rateLimitFilters.service: has no effect"]
