"""Who owns a host, which HTTPProxies are for this controller, and what everybody is told."""

from typing import Any

import pytest

from dag import tables
from dag.engine.view import Table
from dag.httpproxy.owner import owner
from dag.httpproxy.status import status
from dag.plan import PLAN
from tests.dag.httpproxy.manifests import configuration, on, proxy, root, services, to
from tests.dag.world import apply, delete, key, messages, problems, routes, world
from tests.laws import rebuild

SERVICES = services("s1", "s2", "s3")
OLD, YOUNG = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"


def test_the_oldest_root_owns_the_host_and_the_others_are_told_who_won() -> None:
    engine = world(
        SERVICES
        + root("first", f"routes: [{to('s1')}]", created=YOUNG)
        + root("second", f"routes: [{on('/more', 's2')}]", created=OLD)
    )
    assert routes(engine, "a.com") == ["/more -> default/s2:80"]
    assert messages(engine, "HTTPProxy", "first") == [
        "VirtualHostError/DuplicateVhost: spec.virtualhost.fqdn: "
        "a.com belongs to HTTPProxy default/second, which takes precedence"
    ]
    assert problems(engine, "HTTPProxy", "second") == []


def test_without_ages_namespace_and_name_decide() -> None:
    engine = world(
        SERVICES
        + services("s1", namespace="alpha")
        + root("beta/a", f"routes: [{to('s1')}]")
        + root("alpha/z", f"routes: [{to('s1')}]")
    )
    assert routes(engine, "a.com") == ["/ -> alpha/s1:80"]


def test_when_the_owner_goes_the_next_oldest_serves() -> None:
    engine = world(
        SERVICES
        + root("one", f"routes: [{to('s1')}]", created=OLD)
        + root("two", f"routes: [{to('s2')}]", created=YOUNG)
    )
    delete(engine, "HTTPProxy", "one")
    assert routes(engine, "a.com") == ["/ -> default/s2:80"]
    assert problems(engine, "HTTPProxy", "two") == []
    delete(engine, "HTTPProxy", "two")
    assert routes(engine, "a.com") == []


def test_what_is_wrong_with_the_loser_is_told_too_and_its_children_are_orphans() -> None:
    engine = world(
        SERVICES
        + root("one", f"routes: [{to('s1')}]", created=OLD)
        + root("two", f"includes: [{{name: c}}], routes: [{to('gone')}]", created=YOUNG)
        + proxy("c", f"routes: [{on('/c', 's2')}]")
    )
    assert problems(engine, "HTTPProxy", "two") == [
        "ServiceError/ServiceUnresolvedReference",
        "VirtualHostError/DuplicateVhost",
    ]
    (told,) = messages(engine, "HTTPProxy", "c")
    assert told.startswith("Orphaned/Orphaned: this HTTPProxy is not part of a delegation chain")
    found = engine.answer(status, key("c"))
    assert found is not None
    assert found.current_status == "orphaned"


def test_a_child_is_served_while_one_of_its_roots_owns_one_of_its_hosts() -> None:
    lost = "virtualhost: {fqdn: a.com, aliases: [b.com]}, includes: [{name: c}]"
    engine = world(
        SERVICES
        + root("one", f"routes: [{to('s1')}]", created=OLD)
        + proxy("two", lost, created=YOUNG)
        + proxy("c", f"routes: [{to('s2')}]")
    )
    assert problems(engine, "HTTPProxy", "c") == []
    apply(engine, root("three", f"routes: [{to('s1')}]", fqdn="b.com", created=OLD))
    assert problems(engine, "HTTPProxy", "c") == ["Orphaned/Orphaned"]
    apply(engine, root("four", "includes: [{name: c}]", fqdn="d.com"))
    assert problems(engine, "HTTPProxy", "c") == []
    delete(engine, "HTTPProxy", "four")
    delete(engine, "HTTPProxy", "one")
    assert problems(engine, "HTTPProxy", "c") == []


def test_a_wildcard_is_a_host_of_its_own() -> None:
    engine = world(SERVICES + root("root", f"routes: [{to('s1')}]", fqdn="'*.a.com'"))
    (route,) = routes(engine, "*.a.com")
    assert route.startswith("/ :authority~")
    assert route.endswith(" -> default/s1:80")


@pytest.mark.parametrize(
    ("names", "spec", "annotation", "served"),
    [
        ("", "", "", True),
        ("", "contour", "", True),
        ("", "other", "", False),
        ("", "other", "projectcontour.io/ingress.class: contour", True),
        ("", "contour", "kubernetes.io/ingress.class: other", False),
        (
            "",
            "",
            "projectcontour.io/ingress.class: contour, kubernetes.io/ingress.class: other",
            True,
        ),
        ("[mine]", "", "", False),
        ("[mine]", "contour", "", False),
        ("[mine, yours]", "yours", "", True),
    ],
)
def test_only_the_classes_that_are_served_count(
    names: str, spec: str, annotation: str, served: bool
) -> None:
    configured = configuration(f"ingress: {{classNames: {names}}}") if names else ""
    class_name = f"ingressClassName: {spec}, " if spec else ""
    text = (
        configured
        + SERVICES
        + root("r", f"{class_name}routes: [{to('s1')}]", annotations=annotation)
    )
    engine = world(text)
    assert routes(engine, "a.com") == (["/ -> default/s1:80"] if served else [])
    assert (engine.answer(status, key("r")) is not None) == served


def test_another_controllers_root_takes_no_host_away() -> None:
    engine = world(
        SERVICES
        + root("a", "ingressClassName: other, routes: []", created=OLD)
        + root("b", f"routes: [{to('s1')}]", created=YOUNG)
    )
    assert engine.answer(owner, "a.com") == key("b")
    assert problems(engine, "HTTPProxy", "b") == []


def test_roots_outside_the_root_namespaces_claim_nothing() -> None:
    engine = world(
        configuration("httpproxy: {rootNamespaces: [roots]}")
        + services("s1", namespace="roots")
        + root("outside", f"routes: [{to('s1')}]", created=OLD)
        + root("roots/inside", f"routes: [{to('s1')}]", created=YOUNG)
    )
    assert routes(engine, "a.com") == ["/ -> roots/s1:80"]
    assert "RootNamespaceError/RootProxyNotAllowedInNamespace" in problems(
        engine, "HTTPProxy", "outside"
    )


def test_a_root_needs_something_to_serve() -> None:
    engine = world(root("root", "routes: []"))
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "root") == ["SpecError/NothingDefined"]


def test_a_name_that_is_longer_than_dns_allows_is_no_name() -> None:
    name = ".".join(["a" * 60] * 5)
    engine = world(SERVICES + root("root", f"routes: [{to('s1')}]", fqdn=name))
    assert routes(engine, name) == []
    assert problems(engine, "HTTPProxy", "root") == ["VirtualHostError/FQDNNotValid"]


def test_an_orphan_is_told_and_is_none_once_a_root_includes_it() -> None:
    engine = world(SERVICES + proxy("child", f"routes: [{to('s1')}]"))
    found = engine.answer(status, key("child"))
    assert found is not None
    assert (found.current_status, found.valid.status, found.valid.reason) == (
        "orphaned",
        "False",
        "ErrorPresent",
    )
    assert messages(engine, "HTTPProxy", "child") == [
        "Orphaned/Orphaned: this HTTPProxy is not part of a delegation chain from a root HTTPProxy"
    ]
    apply(engine, root("root", "includes: [{name: child}]"))
    found = engine.answer(status, key("child"))
    assert found is not None
    assert (found.current_status, found.valid.message) == ("valid", "Valid HTTPProxy")
    delete(engine, "HTTPProxy", "root")
    assert problems(engine, "HTTPProxy", "child") == ["Orphaned/Orphaned"]


def test_a_child_of_two_roots_is_told_its_errors_once_and_they_stay_valid() -> None:
    engine = world(
        root("one", "includes: [{name: c}]", fqdn="one.com")
        + root(
            "two", "includes: [{name: c}, {name: c, conditions: [{prefix: /x}]}]", fqdn="two.com"
        )
        + proxy("c", f"routes: [{to('gone')}]")
    )
    assert problems(engine, "HTTPProxy", "c") == ["ServiceError/ServiceUnresolvedReference"]
    found = engine.answer(status, key("c"))
    assert found is not None
    assert found.current_status == "invalid"
    assert found.valid.message == "At least one error present, see Errors for details"
    assert problems(engine, "HTTPProxy", "one") == problems(engine, "HTTPProxy", "two") == []


def test_a_change_costs_what_it_touches_however_many_roots_there_are() -> None:
    def work(size: int) -> tuple[int, int]:
        text = SERVICES + "".join(
            root(
                f"r{n}", f"includes: [{{name: c{n}}}], routes: [{on('/x', 's1')}]", fqdn=f"{n}.com"
            )
            + proxy(f"c{n}", f"routes: [{to('s2')}]")
            for n in range(size)
        )
        engine = world(text)
        before = (engine.work.runs, engine.work.checks)
        apply(engine, proxy("c3", f"routes: [{to('s3')}]"))
        apply(engine, root("rival", f"routes: [{to('s3')}]", fqdn="3.com"))
        apply(engine, root("new", f"routes: [{to('s3')}]", fqdn="new.com"))
        return engine.work.runs - before[0], engine.work.checks - before[1]

    assert work(10) == work(200)


def test_what_was_settled_step_by_step_is_what_a_rebuild_gives() -> None:
    engine = world(
        SERVICES
        + root("one", f"includes: [{{name: c}}], routes: [{to('s1')}]", created=YOUNG)
        + proxy("c", f"routes: [{on('/c', 's2')}]")
    )
    apply(engine, root("two", f"includes: [{{name: c}}], routes: [{to('s3')}]", created=OLD))
    delete(engine, "HTTPProxy", "one")
    apply(engine, proxy("c", "includes: [{name: two}]"))
    inputs: list[Table[Any, Any]] = [*tables.BY_KIND.values(), tables.FLEETS]
    rows = {table: dict(engine.rows(table)) for table in inputs}
    expected = rebuild.rebuilt(PLAN, rows)
    found = {
        (query, it): answer for query in PLAN.published for it, answer in engine.answers(query)
    }
    assert found == expected
