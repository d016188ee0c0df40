"""Secret: certificates, keys and certificate authorities, decoded from base64 once (core/v1).

The values are only bytes here; the rules decide whether they are a certificate.
"""

import binascii
from base64 import b64decode
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from crds.meta import ObjectMeta, excerpt


def _decoded(value: object) -> object:
    """Decodes strictly, except that line breaks are allowed, as in the API server."""
    if not isinstance(value, str):
        return value
    try:
        return b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise PydanticCustomError("base64", "must be base64") from None


Encoded = Annotated[bytes, BeforeValidator(_decoded)]


@excerpt
class Secret:
    """Bytes by key. `stringData` is merged into `data` and wins, as the API server does it."""

    metadata: ObjectMeta
    type: str = "Opaque"
    """What the Secret holds, such as `kubernetes.io/tls`."""
    data: dict[str, Encoded] = Field(default_factory=dict, repr=False)
    """The decoded values; the document has them in base64."""
    string_data: dict[str, str] = Field(default_factory=dict, repr=False)
    """Always empty after decoding, since it has been merged into `data`."""

    def __post_init__(self) -> None:
        if self.string_data:
            written = {key: text.encode() for key, text in self.string_data.items()}
            object.__setattr__(self, "data", self.data | written)
            object.__setattr__(self, "string_data", {})
