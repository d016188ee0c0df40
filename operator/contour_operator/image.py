"""The image of the operator's own pod, which is that of the control planes unless another is said.

Both are in one image. Asked of the API server, since a kubelet tells a process everything about its
pod but the image; so whoever changes the image of the operator's Deployment has changed both.
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
"""Ours, among those that others may have added to the pod."""

_PODS = Resource("", "v1", "pods")


async def own(client: Client, namespace: str, pod: str) -> str:
    """The image; empty if it cannot be known. An API server that is away is waited for."""
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
