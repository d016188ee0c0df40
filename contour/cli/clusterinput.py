"""What `contour diff` and `contour translate` read of a cluster, with the rights of the user."""

from contour.cli import output, remotely
from contour.cli.manifestinput import Present
from contour.cli.source import Source
from contour.remote import instances, objects
from contour.remote.instances import Instance, NoInstance
from crds.meta import NamespacedName
from kube.client import Client


def present(source: Source) -> Present:
    """What the instance reads, with the rights of the user; says what of it may not be read.

    Ends the program if the API server cannot be asked.
    """

    async def read(client: Client) -> Present:
        instance: Instance | None = None
        try:
            instance = await instances.one(client, source.namespace, source.instance)
        except NoInstance as error:
            if source.instance or source.namespace:
                raise
            output.say(f"warning: {error}; read as if one watched all namespaces", err=True)
        found = await objects.read(client, instance)
        for it in found.left_out:
            output.say(it, err=True)
        name = NamespacedName(instance.namespace, instance.name) if instance else None
        return Present(name, found.batch, found.refused)

    return remotely.connected(source, read)
