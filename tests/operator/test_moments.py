"""Moments that a cluster passes through too fast to be held, on the double of an API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from contour_operator import children, configurations, desired
from contour_operator.reconciling import Reconciler
from contour_operator.trust import Trust
from kube import conditions, errors
from kube.client import Client
from provisioning.keeping import objects
from provisioning.keeping.ownership import Owner
from tests.cluster.double.faults import Request, Rule
from tests.cluster.double.resources import Name, Resource
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

HOME = "home"
GATEWAY = "gateway.networking.k8s.io"
CUSTOM = (
    Resource("projectcontour.io", ("v1alpha1",), "contourconfigurations", "ContourConfiguration",
             has_status=True, custom=True),
    Resource(GATEWAY, ("v1",), "gatewayclasses", "GatewayClass", False, custom=True),
    Resource(GATEWAY, ("v1",), "gateways", "Gateway", custom=True),
    Resource(GATEWAY, ("v1",), "tcproutes", "TCPRoute", custom=True),
)  # fmt: skip
CONFIGURATIONS, DEPLOYMENTS = CUSTOM[0].name, Name("apps", "deployments")
BINDINGS = Name("rbac.authorization.k8s.io", "clusterrolebindings")


def _told_to_nobody(*_: object) -> None:
    """Events are not looked at."""


class Site:
    """The double, and an operator on it."""

    def __init__(self, double: Double, client: Client) -> None:
        self.double = double
        self.children = children.followed(client, lambda _: None)
        trust = Trust(client, ("*",))
        self._reconciler = Reconciler(
            client, self.children, desired.Release(), _told_to_nobody, trust
        )

    def configure(self, name: str = "contour", **spec: Any) -> None:
        """Creates a configuration or changes its specification."""
        found = self.stored(name)
        metadata: Raw = found.get("metadata") or {"name": name, "namespace": HOME, "generation": 0}
        head = {"apiVersion": "projectcontour.io/v1alpha1", "kind": "ContourConfiguration"}
        newer = {"generation": metadata["generation"] + 1}
        self.double.put({**found, **head, "metadata": metadata | newer, "spec": spec})

    def delete(self) -> None:
        """Deletes the configuration, which waits for its finalizer."""
        found = self.stored()
        marked = {"deletionTimestamp": "2024-01-31T12:00:00Z"}
        self.double.put(found | {"metadata": found["metadata"] | marked})

    def stored(self, name: str = "contour") -> Raw:
        """A configuration; empty if there is none."""
        return self.double.store.get(CONFIGURATIONS, (HOME, name)) or {}

    def condition(self, type_: str, name: str = "contour") -> Raw:
        """A condition of a configuration; empty if there is none."""
        return dict(conditions.by_type(self.stored(name).get("status") or {}).get(type_, {}))

    async def reconcile(self, name: str = "contour") -> None:
        """One turn; one that waits for something is no failure."""
        with suppress(errors.RequestError):
            await self._reconciler.reconcile(Owner(HOME, name))

    def roll_out(self, *more: Raw, **status: Any) -> None:
        """The controller of Deployments: the control plane has this status, else is complete."""
        found = self.double.store.get(DEPLOYMENTS, (HOME, "contour"))
        assert found is not None
        complete: Raw = {
            "observedGeneration": found["metadata"]["generation"],
            **dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 2),
            "conditions": [{"type": "Available", "status": "True"}, *more],
        }
        self.double.put(found | {"status": complete | status})

    async def seen(self) -> None:
        """Returns when the operator has seen the newest Deployment."""
        found = self.double.store.get(DEPLOYMENTS, (HOME, "contour"))
        assert found is not None
        path, version = objects.path(found), found["metadata"]["resourceVersion"]
        async with asyncio.timeout(5):
            while self._version(path) != version:
                await asyncio.sleep(0.01)

    def _version(self, path: str) -> str:
        known = self.children.of(children.of(Owner(HOME, "contour"))).get(path)
        return str(known["metadata"]["resourceVersion"]) if known else ""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """An operator that has listed a cluster without instances."""
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace(HOME)
        double.define(CUSTOM)
        found = Site(double, client)
        following = asyncio.ensure_future(found.children.run())
        try:
            await found.children.synced()
            yield found
        finally:
            following.cancel()
            await asyncio.wait([following])


STUCK = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


@pytest.mark.parametrize("before", [[], [STUCK]], ids=["complete", "failed"])
async def test_a_rollout_that_has_just_begun_is_not_told_as_the_one_before(
    site: Site, before: list[Raw]
) -> None:
    site.configure(contour={})
    await site.reconcile()
    site.roll_out(*before)
    await site.seen()
    site.configure(contour={"podAnnotations": {"example.com/new": "1"}})
    await site.reconcile()
    found = site.condition("Progressing")
    assert (found["observedGeneration"], found["reason"]) == (2, "RollingOut")


async def test_of_two_configurations_that_come_at_once_one_gets_the_instance(site: Site) -> None:
    looked = asyncio.Event()

    def is_later(it: Request) -> bool:
        """The other configuration comes when the first one has been found to be alone."""
        if not site.stored("a"):
            site.configure("a", contour={})
            looked.set()
        return False

    site.double.script.add(Rule("get", "secrets", is_later))
    site.configure("b", contour={})
    first = asyncio.ensure_future(site.reconcile("b"))
    await looked.wait()
    await asyncio.gather(first, site.reconcile("a"))
    has = [it for it in "ab" if configurations.Configuration(site.stored(it)).has_finalizer]
    assert has == ["b"]
    assert site.condition("Provisioned", "a")["reason"] == "NamespaceInUse"


async def test_a_refused_configuration_that_asks_for_no_instance_any_more_has_no_condition(
    site: Site,
) -> None:
    site.configure(contour={"watchNamespaces": ["a", "a"]})
    await site.reconcile()
    assert site.condition("Provisioned")["reason"] == "Invalid"
    site.configure()
    await site.reconcile()
    assert site.stored()["status"].get("conditions", []) == []


async def test_a_configuration_of_an_installation_by_hand_is_not_written_to(site: Site) -> None:
    site.configure()
    before = site.stored()
    await site.reconcile()
    assert site.stored() == before
    assert site.double.count("patch") == 0


@pytest.mark.parametrize(
    ("verb", "resource", "waits_for"),
    [
        ("delete", "services", "Service home/contour (no webhook answers)"),
        (
            "list",
            "gatewayclasses",
            "its finalizers on Gateways and GatewayClasses (no webhook answers)",
        ),
    ],
)
async def test_what_refuses_the_end_of_an_instance_is_told(
    site: Site, verb: str, resource: str, waits_for: str
) -> None:
    site.configure(contour={})
    await site.reconcile()
    site.delete()
    site.double.script.add(
        Rule(verb, resource, _is_unlabelled, status=500, message="no webhook answers")
    )
    await site.reconcile()
    found = site.condition("Provisioned")
    assert (found["status"], found["reason"]) == ("False", "Deleting")
    assert found["message"] == f"Waiting for the deletion of {waits_for}"


def _is_unlabelled(it: Request) -> bool:
    return "labelSelector" not in it.query


async def test_what_may_not_be_removed_does_not_keep_others_of_its_kind(site: Site) -> None:
    site.configure(contour={})
    await site.reconcile()
    site.delete()
    names = [name for (_, name), _ in site.double.store.all(BINDINGS)]
    site.double.script.add(
        Rule("delete", BINDINGS.plural, lambda it: it.name == names[0], status=403)
    )
    await site.reconcile()
    assert [name for (_, name), _ in site.double.store.all(BINDINGS)] == names[:1]
    assert len(names) == 2


async def test_what_was_handed_over_stays_if_its_configuration_is_deleted_at_once(
    site: Site,
) -> None:
    """As if no operator had run between the two."""
    site.configure(contour={})
    await site.reconcile()
    made = site.double.store.all(DEPLOYMENTS)
    site.configure()
    site.delete()
    for _ in range(2):  # the conditions, the finalizer
        await site.reconcile()
    assert site.stored() == {}
    assert site.double.store.all(DEPLOYMENTS) == made
