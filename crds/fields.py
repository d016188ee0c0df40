"""The scalar types of fields of several kinds, with the bounds of their CRDs.

Sources: the OpenAPI schemas of projectcontour.io and of the Gateway API (v1.6.1); names of objects
by Kubernetes, "Object Names and IDs". Numbers and flags are strict: `"80"` is not a number.
Durations stay text here; a rule in `dag` parses them.
"""

from typing import Annotated, Literal

from pydantic import Field, Strict, StringConstraints

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LENGTHS_OF_TIME = r"([0-9]*(\.[0-9]*)?(h|m|s|ms|us|µs|ns))+"

LABEL = rf"^{_LABEL}$"
DNS_NAME = rf"^{_LABEL}(\.{_LABEL})*$"
HOST = rf"^(\*\.)?{_LABEL}(\.{_LABEL})*$"
HOST_OR_NONE = rf"^$|^(\*\.)?{_LABEL}(\.{_LABEL})*$"
DURATION = rf"^{_LENGTHS_OF_TIME}$"
DURATION_OR_ZERO = rf"^({_LENGTHS_OF_TIME}|0)$"
TIMEOUT = rf"^({_LENGTHS_OF_TIME}|infinity|infinite)$"
GATEWAY_DURATION = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"
HOST_OR_EVERY = rf"^(\*|(\*\.)?{_LABEL}(\.{_LABEL})*)$"
TOKEN = r"^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$"
COOKIE_NAME = r"""^[^()<>@,;:\\"/\[\]?={} \t\x7f\x00-\x1f]+$"""
ABSOLUTE_PATH = r"^\/.*$"

IN_WORDS = {
    LABEL: "lower-case letters, digits and -",
    DNS_NAME: "a DNS name in lower case, without wildcard",
    HOST: "a DNS name in lower case, perhaps with a wildcard, such as *.example.com",
    HOST_OR_NONE: "a DNS name in lower case, perhaps with a wildcard, such as *.example.com",
    HOST_OR_EVERY: "a DNS name in lower case, perhaps with a wildcard, such as *.example.com, or *",
    TOKEN: "a token, such as GET",
    COOKIE_NAME: "the name of a cookie",
    DURATION: "a duration, such as 30s",
    DURATION_OR_ZERO: "a duration, such as 30s, or 0",
    TIMEOUT: "a duration, such as 30s, or infinity",
    GATEWAY_DURATION: "a duration in whole h, m, s and ms, such as 1m30s",
    ABSOLUTE_PATH: "a path that starts with /",
}
"""The patterns that users often fail to match, in words."""

_INT32, _UINT32, _INT64 = 2**31 - 1, 2**32 - 1, 2**63 - 1

Flag = Annotated[bool, Strict()]
Int32 = Annotated[int, Strict(), Field(ge=-_INT32 - 1, le=_INT32)]
Int64 = Annotated[int, Strict(), Field(ge=-_INT64 - 1, le=_INT64)]
Natural32 = Annotated[int, Strict(), Field(ge=0, le=_INT32)]
Natural64 = Annotated[int, Strict(), Field(ge=0, le=_INT64)]
Positive32 = Annotated[int, Strict(), Field(ge=1, le=_INT32)]
Uint32 = Annotated[int, Strict(), Field(ge=0, le=_UINT32)]
"""The range of Envoy's uint32 fields."""
PositiveUint32 = Annotated[int, Strict(), Field(ge=1, le=_UINT32)]
Window = Annotated[int, Strict(), Field(ge=65_535, le=2**31 - 1)]
"""An HTTP/2 window in bytes, at least the one that every connection begins with (RFC 9113)."""
Byte = Annotated[int, Strict(), Field(ge=0, le=255)]
SameSite = Literal["Strict", "Lax", "None"]
"""When browsers send a cookie with requests of other sites."""
Percent = Annotated[int, Strict(), Field(ge=0, le=100)]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
PortOrNone = Annotated[int, Strict(), Field(ge=0, le=65535)]
"""A port, or 0 for none."""

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Label = Annotated[str, StringConstraints(pattern=LABEL, min_length=1, max_length=63)]
Subdomain = Annotated[str, StringConstraints(pattern=DNS_NAME, min_length=1, max_length=253)]
Hostname = Annotated[str, StringConstraints(pattern=HOST, min_length=1, max_length=253)]
"""A DNS name; its first label may be a wildcard."""

Duration = Annotated[str, StringConstraints(pattern=DURATION)]
"""Go's notation, such as `1m30s`."""
DurationOrZero = Annotated[str, StringConstraints(pattern=DURATION_OR_ZERO)]
Timeout = Annotated[str, StringConstraints(pattern=TIMEOUT)]
"""A duration, or `infinity` for no limit."""
GatewayDuration = Annotated[str, StringConstraints(pattern=GATEWAY_DURATION)]
"""GEP-2257: whole hours, minutes, seconds and milliseconds."""
