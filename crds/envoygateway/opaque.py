"""Fields whose content Kubernetes or another project defines: any JSON object, kept as it is.

In the CRD they are objects whose fields are preserved. What may stand in them is checked by whoever
reads them, and in the end by the API server that they are written to.
"""

from typing import Annotated

from pydantic import Field, WithJsonSchema

_PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}

Opaque = Annotated[dict[str, object], WithJsonSchema({"type": "object", **_PRESERVED})]
"""An object."""

AnyJson = Annotated[object, WithJsonSchema(_PRESERVED)]
"""Any value."""

Amount = Annotated[
    int | str,
    Field(union_mode="left_to_right"),
    WithJsonSchema({"x-kubernetes-int-or-string": True}),
]
"""A number, or a percentage such as `50%`."""
