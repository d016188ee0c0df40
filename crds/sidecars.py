"""Extensions that run beside the control plane, as in a ContourConfiguration."""

from typing import Final

from pydantic import Field

from crds.fields import NonEmpty
from crds.meta import model
from crds.workloads import Resources

SOCKETS: Final = "/run/extensions"
"""The folder that sidecars and the control plane share."""
LONGEST_NAME: Final = 53
"""Of an extension with a sidecar: its container is called `extension-NAME`."""


@model
class Sidecar:
    """A container in the pods of the control plane in which an extension runs. It is made by the
    operator, and shares the folder `/run/extensions` with the control plane. It has no token of a
    ServiceAccount, its file system is read-only but for `/tmp`, and it must not run as root."""

    image: NonEmpty
    """The image of the container."""
    command: tuple[str, ...] = Field(default=(), max_length=64)
    """The command that it runs. The default is that of the image."""
    args: tuple[str, ...] = Field(default=(), max_length=256)
    """The arguments of the command."""
    env: dict[str, str] = Field(default_factory=dict)
    """Its environment variables, by name."""
    resources: Resources | None = None
    """The resources of the container. The default is a request of 10m CPU and 64Mi memory, and a
    limit of 256Mi memory."""
