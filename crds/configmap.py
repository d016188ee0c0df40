"""ConfigMap: certificate authorities and other text that policies refer to (core/v1)."""

from pydantic import Field

from crds.meta import ObjectMeta, excerpt
from crds.secret import Encoded


@excerpt
class ConfigMap:
    """Text and bytes by key."""

    metadata: ObjectMeta
    data: dict[str, str] = Field(default_factory=dict)
    """Texts by key; certificate authorities are looked for in `ca.crt`."""
    binary_data: dict[str, Encoded] = Field(default_factory=dict)
    """The decoded values; the document has them in base64."""
