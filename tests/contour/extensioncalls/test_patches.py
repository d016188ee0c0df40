"""Patches of a cluster that an extension adds: what is served depends on what there is, whatever
came first and whatever went meanwhile."""

from functools import partial
from random import Random
from typing import Any

import pytest

from crds.envoygateway import patchpolicy as crd
from crds.meta import NamespacedName
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.contour.extensioncalls.served import Shaped, extension, instance, running
from tests.contour.extensioncalls.test_translation import (
    ADDED,
    ALONE,
    SMALL,
    add,
    changing,
    clusters,
)
from tests.testbed import world
from tests.testbed.extensionserver import scripted
from tests.testbed.world import Document

NAMESPACE = world.namespace(0)
ALLOWED: dict[str, Any] = {"gateway": {"envoyPatchPolicies": {"namespaces": [NAMESPACE]}}}
WHOLE = {"op": "add", "path": "", "value": {"name": ADDED, "alt_stat_name": "whole"}}
FIELD = {"op": "add", "path": "/connect_timeout", "value": "7s"}
TOGGLES = 25


def policy(name: str, priority: int, operation: Document) -> Document:
    patch = {"type": crd.CLUSTER, "name": ADDED, "operation": operation}
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gateway"}
    spec = {"targetRef": target, "type": "JSONPatch", "priority": priority, "jsonPatches": [patch]}
    document = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyPatchPolicy"}
    return document | {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


POLICIES = {"whole": policy("whole", 0, WHOLE), "field": policy("field", 1, FIELD)}


def told(of: Shaped, name: str) -> str:
    """The reason in the status of a policy."""
    found = of.instance.controller.engine.answer(
        STATUSES["EnvoyPatchPolicy"], NamespacedName(NAMESPACE, name)
    )
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[-1].reason


def is_served(of: Shaped, there: set[str]) -> bool:
    """Whether the cluster, and the status of the policies, are as they have to be."""
    found = clusters(of).get(ADDED)
    if not there & {"extension", "whole"}:
        is_right = found is None
    else:
        alt_stat_name = "whole" if "whole" in there else ""
        seconds = 7 if "field" in there else 0
        is_right = found is not None and (
            (alt_stat_name, seconds) == (found.alt_stat_name, found.connect_timeout.seconds)
        )
    is_missing = found is None
    reasons = {"field": "ResourceNotFound" if is_missing else "Programmed", "whole": "Programmed"}
    return is_right and all(told(of, it) == reasons[it] for it in there - {"extension"})


@pytest.mark.parametrize("seed", range(5))
async def test_a_cluster_that_an_extension_adds_is_patched_whatever_came_first(seed: int) -> None:
    chance = Random(seed)
    there: set[str] = set()
    async with scripted(changing(add)) as server:
        made = instance(**ALLOWED)
        async with running(made, server) as of:
            of.take(*SMALL.documents(), *world.gateway())
            for _ in range(TOGGLES):
                it = chance.choice(["extension", *POLICIES])
                there ^= {it}
                if it == "extension":
                    entries = [extension(server, **ALONE)] if it in there else []
                    of.take(world.configuration(extensions=entries, **ALLOWED))
                elif it in there:
                    of.take(POLICIES[it])
                else:
                    of.take(gone=[POLICIES[it]])
                await of.until(partial(is_served, of, there))
                assert not made.controller.engine.failures
