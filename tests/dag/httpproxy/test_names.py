"""The names of a root: aliases, and the host that stands for every other one."""

import pytest

from tests.dag.httpproxy.manifests import root, services, to
from tests.dag.world import apply, delete, messages, problems, routes, secure, tls, world
from tests.testbed import pairs

SERVICES = services("s1", "s2")
OLD, YOUNG = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
BOTH = "fqdn: a.com, aliases: [b.com, '*.c.com', a.com]"


def named(name: str, host: str, service: str, created: str = OLD) -> str:
    written = root(name, f"routes: [{to(service)}]", created=created)
    return written.replace("fqdn: a.com", host)


def test_every_alias_is_served_in_the_same_way() -> None:
    engine = world(SERVICES + named("root", BOTH, "s1"))
    assert routes(engine, "a.com") == routes(engine, "b.com") == ["/ -> default/s1:80"]
    assert len(routes(engine, "*.c.com")) == 1
    assert problems(engine, "HTTPProxy", "root") == []


def test_an_alias_has_an_owner_of_its_own() -> None:
    younger = named("younger", "fqdn: d.com, aliases: [b.com]", "s2", YOUNG)
    engine = world(SERVICES + named("root", BOTH, "s1") + younger)
    assert routes(engine, "b.com") == ["/ -> default/s1:80"]
    assert routes(engine, "d.com") == ["/ -> default/s2:80"]
    assert messages(engine, "HTTPProxy", "younger") == [
        "VirtualHostError/DuplicateVhost: spec.virtualhost.aliases[0]: b.com belongs to "
        "HTTPProxy default/root, which takes precedence"
    ]
    delete(engine, "HTTPProxy", "root")
    assert routes(engine, "b.com") == ["/ -> default/s2:80"]
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "younger") == []


def test_a_name_that_can_be_no_host_is_told_and_the_others_serve() -> None:
    engine = world(SERVICES + named("root", "fqdn: a.com, aliases: [10.0.0.1]", "s1"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert messages(engine, "HTTPProxy", "root") == [
        "VirtualHostError/FQDNNotValid: spec.virtualhost.aliases[0]: '10.0.0.1' is an IP address, "
        "not a DNS name"
    ]


@pytest.mark.parametrize("rest", ["", ", tls: {secretName: cert}"])
def test_the_host_for_everything_is_claimed_like_any_other(rest: str) -> None:
    engine = world(SERVICES + pairs.secret("cert") + named("root", f"fqdn: '*'{rest}", "s1"))
    assert problems(engine, "HTTPProxy", "root") == []
    served = secure(engine, "*") if rest else routes(engine, "*")
    assert served == ["/ -> default/s1:80"]
    assert tls(engine, "*") == ("default/cert 1.2-1.3" if rest else "")
    apply(engine, named("second", "fqdn: '*'", "s2", YOUNG))
    assert problems(engine, "HTTPProxy", "second") == ["VirtualHostError/DuplicateVhost"]
