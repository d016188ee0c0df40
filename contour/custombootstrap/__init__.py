"""A bootstrap that a user wrote or changed: what becomes of the one that a fleet is rendered.

It replaces that one, is merged into it, or patches it. What Envoy needs in order to reach the
control plane, and what readiness depends on, must stay: it is compared as protobuf messages, and
what differs is refused with its path. Pure: a text and settings in, a text out. Elsewhere: what is
rendered (`contour.bootstrap`), and Envoy's own validation (`contour.host.validating`).
"""

from contour.custombootstrap.applying import Applied, RefusedBootstrapError, applied, told
from contour.custombootstrap.reading import as_text, from_text

__all__ = ["Applied", "RefusedBootstrapError", "applied", "as_text", "from_text", "told"]
