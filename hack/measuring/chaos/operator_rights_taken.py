"""Each right of the operator is taken away, on a real API server, and given back.

An operator provisions an instance and removes it. If it lacks a right, it has to report that in the
status of the ContourConfiguration or in its log, and to finish once it has the right. Its parts are
the real ones, in this process.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from contour_operator import children, configurations, desired
from contour_operator.reconciling import Reconciler
from contour_operator.trust import Trust
from hack.measuring import missing_rights
from hack.measuring.missing_rights import Outcome, Right, logged, note, outcomes
from kube import errors, kubeconfig
from kube.client import Client
from provisioning import installation, manifests
from provisioning.installation import Place
from provisioning.keeping.ownership import Owner
from tests.cluster import prepared
from tests.cluster.cluster import Cluster, default_crds
from tests.operator import operators
from tests.operator.operators import Rig
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

NAME = "operator-rights-taken-away"
SECONDS = 60.0
_RBAC = "rbac.authorization.k8s.io"
_SPEC: dict[str, Any] = {
    "envoy": {"networkPublishing": {"type": "ClusterIPService"}},
    "gateway": {"mode": "PerGateway"},
}


@measures(NAME)
def operator_rights_taken_away(options: Options) -> Iterator[Figure]:
    """Rights of the shipped ClusterRole of the operator."""
    every = missing_rights.rights(_rules())[:: 10 if options.quick else 1]
    with (
        tempfile.TemporaryDirectory(prefix=f"{NAME}-") as folder,
        prepared.running(Path(folder), *default_crds()) as cluster,
    ):
        found = asyncio.run(outcomes(every, partial(_without, cluster, Path(folder))))
    note(options, NAME, found)
    missed = [it for it in found if it.is_missed]
    yield Figure("rights taken away, one at a time", len(found), "")
    yield Figure("of which nothing missed in the life of an instance", len(found) - len(missed), "")
    yield Figure("of which not told", sum(not it.is_told for it in missed), "", 0)
    yield Figure(
        "after which not all was made and removed", sum(not it.is_finished for it in found), "", 0
    )


def _rules() -> Sequence[Mapping[str, Any]]:
    rules: Sequence[Mapping[str, Any]] = operators.shipped("ClusterRole")["rules"]
    return rules


async def _without(cluster: Cluster, folder: Path, right: Right) -> Outcome:
    here = folder / f"{right}".replace(" ", "-")
    here.mkdir()
    rig = await asyncio.to_thread(_installed, cluster, here, right)
    owner = Owner(rig.namespace, "contour")
    words = _Words(right, rig.home)
    with logged() as log:
        words.log = log
        is_missed = not await _lives(rig, owner, words, is_lesser=True)
        was_told = words.are_told
        await asyncio.to_thread(cluster.apply, _role(rig.home, _rules()))
        await _turns(rig, owner, words, is_lesser=False)  # completes the deletion
        is_finished = await _lives(rig, owner, words, is_lesser=False)
    return Outcome(right, is_missed, was_told, is_finished)


def _installed(cluster: Cluster, folder: Path, right: Right) -> Rig:
    home = cluster.namespace("home")
    place = Place(namespace=home)
    for it in manifests.operator(installation.Operator(place=place)):
        if it["kind"] in {"ServiceAccount", "Role", "RoleBinding"}:
            cluster.apply(it)
    cluster.apply(_role(home, missing_rights.without(right, _rules())))
    account = {"kind": "ServiceAccount", "name": "contour-operator", "namespace": home}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"lesser-{home}"}
    binding = operators.cluster_wide("ClusterRoleBinding", f"lesser-{home}")
    cluster.apply(binding | {"roleRef": reference, "subjects": [account]})
    for it in manifests.operator(installation.Operator(place=place)):
        if it["kind"] == "ClusterRole" and it["metadata"]["name"] != "contour-operator":
            cluster.apply(it)
    return Rig(cluster, home, "", folder, cluster.namespace("instance"))


def _role(home: str, rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return operators.cluster_wide("ClusterRole", f"lesser-{home}") | {"rules": [*rules]}


_NOT_HELD = "attempting to grant RBAC permissions not currently held"
"""The API server's message to a user who binds a role with rights that the user lacks."""


class _Words:
    """The messages while a right is missing."""

    def __init__(self, right: Right, home: str) -> None:
        self._right, self._home = right, home
        self.log: Sequence[str] = ()
        self.raised: list[str] = []
        """Errors of reconciliations, which the operator logs."""
        self.in_status: list[str] = []

    @property
    def are_told(self) -> bool:
        """Whether a message names the right."""
        of_log = [it for it in self.log if self._home in it]
        return any(map(self._is_told, [*of_log, *self.raised, *self.in_status]))

    def _is_told(self, text: str) -> bool:
        right = self._right
        if right.verb == "bind":
            return _NOT_HELD in text and "ClusterRoleBinding" in text
        refused = f'cannot {right.verb} resource "{right.resource}"'
        passed_on = f'Resources:["{right.resource}"]'
        return refused in text or (passed_on in text and f'"{right.verb}"' in text)


async def _lives(rig: Rig, owner: Owner, words: _Words, *, is_lesser: bool) -> bool:
    """Creates and removes an instance; returns whether both were completed."""
    await asyncio.to_thread(rig.configure, **_SPEC)
    made = await _turns(rig, owner, words, is_lesser=is_lesser)
    await asyncio.to_thread(rig.cluster.delete, rig.configuration())
    ended = await _turns(rig, owner, words, is_lesser=is_lesser)
    if not is_lesser:
        return made and ended and await asyncio.to_thread(rig.children) == {}
    return made and ended


async def _turns(rig: Rig, owner: Owner, words: _Words, *, is_lesser: bool) -> bool:
    """Runs an operator until nothing is left to do, or until it has reported the missing right."""
    async with Client(kubeconfig.Kubeconfig(rig.access()), "lesser") as client:
        followed = children.followed(client, lambda _: None)
        following = asyncio.ensure_future(followed.run())
        working = asyncio.ensure_future(_work(client, followed, owner, words))
        try:
            async with asyncio.timeout(SECONDS):
                while not working.done():
                    if is_lesser and words.are_told:
                        return False
                    await asyncio.sleep(0.1)
            return True
        except TimeoutError:
            return False
        finally:
            for it in (following, working):
                it.cancel()
            await asyncio.wait([following, working])


async def _work(client: Client, followed: children.Children, owner: Owner, words: _Words) -> None:
    await followed.synced()
    reconciler = Reconciler(client, followed, desired.Release(), lambda *_: None, Trust(client))
    while True:
        try:
            await reconciler.reconcile(owner)
        except errors.RequestError as error:
            words.raised.append(str(error))
        else:
            found = await configurations.read(client, owner)
            if found is None or not found.is_deleting:
                return
        with suppress(errors.RequestError):
            found = await configurations.read(client, owner)
            if found is not None:
                words.in_status.append(str(found.status))
        await asyncio.sleep(0.2)
