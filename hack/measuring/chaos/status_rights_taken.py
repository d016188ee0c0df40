"""Each right to write statuses is taken away from a working leader, and given back.

`contour serve` runs on a real API server with all rights of the shipped roles but one, and a user
makes an object of that kind. The log has to name the missing right, the status has to stay as it
was, and statuses of other kinds have to be written. With the right back, it has to be written
without a restart, by a retry. A right without which everything works must not be granted.
"""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from crds import kinds
from hack.measuring import missing_rights
from hack.measuring.chaos import status_objects
from hack.measuring.cluster import site
from hack.measuring.missing_rights import Outcome, Right, note
from provisioning import rights
from tests.cluster.cluster import OPTIONAL, OURS, RBAC
from tests.conformance.programs import RELEASES
from tests.testbed import replicas
from tests.testbed.apiserver import RefusedError
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.replicas import NAMESPACE, Replica

NAME = "status-rights-taken-away"
SECONDS = 90.0
"""The limit for a status or the report of its lack: more than the longest pause between retries."""
_ROLE = f"{NAMESPACE}-contour"
_KINDS = {it.plural: it for it in kinds.KINDS.values()}
_RULES = [
    *rights.everywhere(),
    *rights.of_group(kinds.ENVOY_GATEWAY),
    *rights.of_group(kinds.MARIN3R),
]
_DELEGATIONS, _PROXIES = "tlscertificatedelegations", "httpproxies"


@measures(NAME)
def status_rights_taken_away(options: Options) -> Iterator[Figure]:
    """Rights of a leader to the statuses of each kind."""
    every = [it for it in missing_rights.rights(_RULES) if it.resource.endswith("/status")]
    every = every[:: 5 if options.quick else 1]
    found = asyncio.run(_outcomes(every))
    note(options, NAME, found)
    unfinished = "after which a status was not written, or others waited for it"
    yield from missing_rights.figures(found, unfinished)


async def _outcomes(every: Sequence[Right]) -> list[Outcome]:
    async with _leading() as leader:
        return [leader.without(it) for it in every]


@asynccontextmanager
async def _leading() -> AsyncIterator["_Leader"]:
    async with site.ground() as it:
        experimental = RELEASES["v1.7.0"].crds("experimental")
        it.cluster.install_crds(OURS, OPTIONAL, experimental)
        it.cluster.apply(status_objects.EXTENSION_POLICIES)
        replicas.make_certificates(it.folder)
        home = rights.at_home(site.LEASE, watches_everything=True)
        token = it.cluster.service_account(NAMESPACE, "contour", home, _RULES)
        replica = Replica(it.folder, "contour", it.cluster.kubeconfig(token, NAMESPACE))
        found = _Leader(it, replica)
        found.write(status_objects.BASE)
        try:
            await replica.start()
            yield found
        finally:
            await replica.end()


@dataclass(slots=True)
class _Leader:
    """A replica that leads, and the writes of a user."""

    ground: site.Ground
    replica: Replica
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def write(self, text: str) -> None:
        """Applies objects, as a user would."""
        for it in yaml.safe_load_all(text):
            it["metadata"].setdefault("namespace", NAMESPACE)
            self.ground.cluster.apply(it)

    def without(self, right: Right) -> Outcome:
        """Takes the right away and gives it back; returns the outcome."""
        kind = _KINDS[right.resource.removesuffix("/status")]
        before = self._statuses(kind)
        known = self.replica.log.stat().st_size
        self._grant(missing_rights.without(right, _RULES), right, is_allowed=False)
        self.write(status_objects.MADE[kind.kind])
        told = f'cannot {right.verb} resource "{right.resource}"'

        def is_told() -> bool:
            with self.replica.log.open("rb") as log:
                log.seek(known)
                return told in log.read().decode(errors="replace")

        def is_written() -> bool:
            found = self._statuses(kind)
            return any(_is_ours(it) for name, it in found.items() if before.get(name) != it)

        _until(lambda: is_told() or is_written())
        is_missed, was_told = not is_written(), is_told()
        others_go_on = self._others(kind)
        is_missed = is_missed and not is_written()
        self._grant(_RULES, right, is_allowed=True)
        return Outcome(right, is_missed, was_told, others_go_on and _until(is_written))

    def _others(self, kind: kinds.Kind) -> bool:
        """Whether statuses of another kind are still written."""
        name = f"other-{next(self._numbers)}"
        other = _KINDS[_PROXIES if kind.plural == _DELEGATIONS else _DELEGATIONS]
        self.write(status_objects.other(other.kind, name))
        return _until(lambda: _is_ours(self._statuses(other).get(name, {})))

    def _grant(self, rules: Sequence[Any], right: Right, *, is_allowed: bool) -> None:
        """Sets the rules of the role; returns when the API server applies them."""
        cluster = self.ground.cluster
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": _ROLE}}
        cluster.apply(role | {"rules": [*rules]})
        resource, _, part = right.resource.partition("/")
        asked = {"group": right.group, "resource": resource, "subresource": part}
        asked |= {"verb": right.verb, "namespace": NAMESPACE}
        spec = {
            "user": f"system:serviceaccount:{NAMESPACE}:contour",
            "resourceAttributes": asked,
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}

        def is_so() -> bool:
            found = cluster.ask("POST", path, review | {"spec": spec})
            return bool(found["status"]["allowed"]) == is_allowed

        assert _until(is_so), f"{right} is not {'given' if is_allowed else 'taken'}"

    def _statuses(self, kind: kinds.Kind) -> dict[str, Any]:
        """The statuses of all objects of a kind, by name, with the object's generation."""
        path = f"/apis/{kind.group}/{kind.versions[0]}/{kind.plural}"
        with suppress(RefusedError):
            return {
                it["metadata"]["name"]: {
                    "generation": it["metadata"].get("generation"),
                    **it.get("status", {}),
                }
                for it in self.ground.cluster.ask("GET", path)["items"]
            }
        return {}


def _is_ours(status: dict[str, Any]) -> bool:
    """Whether we wrote it: it has our condition for the newest generation, our address, or the
    reason of a published revision."""
    text = json.dumps(status)
    said = (
        f'"observedGeneration": {status.get("generation")}',
        status_objects.ADDRESS,
        "published",
    )
    return any(it in text for it in said)


def _until(is_so: Callable[[], bool]) -> bool:
    """Polls a condition; returns whether it held in time."""
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        if is_so():
            return True
        time.sleep(0.05)
    return False
