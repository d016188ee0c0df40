"""The scalar types that fields of several kinds are made of, with the bounds their CRDs give them.

Sources: the OpenAPI schemas of projectcontour.io and of the Gateway API (v1.6.1); names of objects
by Kubernetes, "Object Names and IDs". Numbers and flags are strict: `"80"` is no number. Durations
stay text here; a rule of the graph parses them.
"""

from typing import Annotated

from annotated_types import Interval
from pydantic import Strict, StringConstraints

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LENGTHS_OF_TIME = r"([0-9]*(\.[0-9]*)?(h|m|s|ms|us|µs|ns))+"

_INT32, _UINT32, _INT64 = 2**31 - 1, 2**32 - 1, 2**63 - 1

Flag = Annotated[bool, Strict()]
Integer = Annotated[int, Strict()]
Int32 = Annotated[int, Strict(), Interval(ge=-_INT32 - 1, le=_INT32)]
Int64 = Annotated[int, Strict(), Interval(ge=-_INT64 - 1, le=_INT64)]
Natural32 = Annotated[int, Strict(), Interval(ge=0, le=_INT32)]
Natural64 = Annotated[int, Strict(), Interval(ge=0, le=_INT64)]
Positive32 = Annotated[int, Strict(), Interval(ge=1, le=_INT32)]
Uint32 = Annotated[int, Strict(), Interval(ge=0, le=_UINT32)]
"""As wide as a number of Envoy's can be."""
PositiveUint32 = Annotated[int, Strict(), Interval(ge=1, le=_UINT32)]
Byte = Annotated[int, Strict(), Interval(ge=0, le=255)]
Percent = Annotated[int, Strict(), Interval(ge=0, le=100)]
Port = Annotated[int, Strict(), Interval(ge=1, le=65535)]
PortOrNone = Annotated[int, Strict(), Interval(ge=0, le=65535)]
"""A port; 0 for none."""

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Label = Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$", min_length=1, max_length=63)]
Subdomain = Annotated[
    str, StringConstraints(pattern=rf"^{_SUBDOMAIN}$", min_length=1, max_length=253)
]
Hostname = Annotated[
    str, StringConstraints(pattern=rf"^(\*\.)?{_SUBDOMAIN}$", min_length=1, max_length=253)
]
"""A DNS name; its first label may be a wildcard."""

Duration = Annotated[str, StringConstraints(pattern=rf"^{_LENGTHS_OF_TIME}$")]
"""Go's notation, such as `1m30s`."""
DurationOrZero = Annotated[str, StringConstraints(pattern=rf"^({_LENGTHS_OF_TIME}|0)$")]
Timeout = Annotated[str, StringConstraints(pattern=rf"^({_LENGTHS_OF_TIME}|infinity|infinite)$")]
"""A duration, or no limit at all."""
