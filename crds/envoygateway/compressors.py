"""How answers are compressed, as a BackendTrafficPolicy says (Envoy Gateway 1.9)."""

from typing import Literal

from crds.envoygateway.opaque import Amount, Opaque
from crds.meta import model


@model
class Compressor:
    """An algorithm, for clients that can read it."""

    type: Literal["Gzip", "Brotli", "Zstd"]
    """The algorithm: `Gzip`, `Brotli` or `Zstd`."""
    gzip: Opaque | None = None
    """It has no fields."""
    brotli: Opaque | None = None
    """It has no fields."""
    zstd: Opaque | None = None
    """It has no fields."""
    min_content_length: Amount | None = None
    """The bytes that a body has at least to be compressed, such as `1Ki`. The least is `30`,
    which is the default."""
