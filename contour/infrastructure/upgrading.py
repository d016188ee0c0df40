"""When the Envoys of a fleet may be upgraded to another release: the control plane comes first.

While the control plane is being rolled out, the leader may be of the old or of the new release.
Envoys wait until the rollout of its Deployment is complete and has the release of this process. If
the rollout fails, they stay as they are. Changes within a release do not wait; nor does anything if
no Deployment of that name exists.
"""

from contour.infrastructure.desired import Release
from dag.fleets import FleetProblem
from kube.client import Client
from provisioning.keeping import objects, rollouts
from provisioning.templating import Document


class Upgrades:
    """Reads the control plane's own Deployment, only when it is needed."""

    def __init__(self, client: Client, release: Release) -> None:
        self._client = client
        self._release = release

    async def obstacle(self, workload: Document, live: Document | None) -> FleetProblem | None:
        """Why a workload must not be changed to this document now; None if it may be."""
        if live is None or rollouts.images(workload) == rollouts.images(live):
            return None
        deployment = await self._client.find(self._path())
        if deployment is None:
            return None
        if failed := rollouts.failure(deployment):
            return FleetProblem(f"the control plane could not be rolled out, Envoys stay: {failed}")
        if left := rollouts.left(deployment):
            return FleetProblem(f"Envoys wait for the control plane: {left}", is_error=False)
        if not any(_are_same(self._release.image, it) for it in rollouts.images(deployment)):
            return FleetProblem(
                "Envoys wait for a control plane of the newest release", is_error=False
            )
        return None

    def _path(self) -> str:
        """The path of the control plane's own Deployment."""
        namespace, name = self._release.owner.namespace, self._release.named("contour")
        return objects.RESOURCES["Deployment"].path(namespace, name)


def _are_same(one: str, other: str) -> bool:
    """Whether two references name one image, though an admission webhook may have replaced the
    registry or added the digest."""
    (name, _, digest), (name_of_other, _, digest_of_other) = map(_parts, (one, other))
    is_same_content = not digest or not digest_of_other or digest == digest_of_other
    return name == name_of_other and is_same_content


def _parts(image: str) -> tuple[str, str, str]:
    _, _, name = image.rpartition("/")
    return name.partition("@")
