"""Secret: certificates, keys and authorities, decoded from base64 once (core/v1).

Whether the bytes are a certificate is a question for the rules; here they are only bytes.
"""

import binascii
from base64 import b64decode
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from crds.meta import ObjectMeta, excerpt


def _decoded(value: object) -> object:
    """Strictly, save for line breaks, which the API server accepts too."""
    if not isinstance(value, str):
        return value
    try:
        return b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise PydanticCustomError("base64", "must be base64") from None


Encoded = Annotated[bytes, BeforeValidator(_decoded)]


@excerpt
class Secret:
    """Bytes by key. `stringData` is merged into `data` and wins, as in the API server."""

    metadata: ObjectMeta
    type: str = "Opaque"
    data: dict[str, Encoded] = Field(default_factory=dict, repr=False)
    """Decoded: the document holds base64."""
    string_data: dict[str, str] = Field(default_factory=dict, repr=False)
    """Always empty after decoding."""

    def __post_init__(self) -> None:
        if self.string_data:
            written = {key: text.encode() for key, text in self.string_data.items()}
            object.__setattr__(self, "data", self.data | written)
            object.__setattr__(self, "string_data", {})
