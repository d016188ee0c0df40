"""The image of the operator's own pod, which control planes run unless another one is set.

One image has both programs. It is read from the API server, since the downward API does not have
it; so whoever changes the image of the operator's Deployment changes both.
"""

import asyncio
import logging

from crds import raw
from crds.raw import Raw
from kube import backoff, errors
from kube.client import Client
from kube.resources import Resource

log = logging.getLogger(__name__)

CONTAINER = "operator"
"""The name of our container, among those that others may have added to the pod."""

_PODS = Resource("", "v1", "pods")


async def own(client: Client, namespace: str, pod: str) -> str:
    """The image; empty if it cannot be read. Waits for an API server that does not answer."""
    wait = backoff.Backoff(0.5, 10.0)
    while True:
        try:
            return _image(await client.get(_PODS.path(namespace, pod)))
        except errors.Refused as error:
            if error.code in {403, 404}:
                log.warning(
                    "cannot read the image of pod %s/%s, using the default: %s",
                    namespace,
                    pod,
                    error,
                )
                return ""
            log.warning("cannot read the image of pod %s/%s: %s; retrying", namespace, pod, error)
        except errors.RequestError as error:
            log.warning("cannot read the image of pod %s/%s: %s; retrying", namespace, pod, error)
        await asyncio.sleep(wait.next())


def _image(pod: Raw) -> str:
    containers = map(raw.mapping, raw.items(raw.at(pod, "spec", "containers")))
    return next((str(it["image"]) for it in containers if it.get("name") == CONTAINER), "")
