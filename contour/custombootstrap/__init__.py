"""Applies a user's bootstrap, or changes to it, to the bootstrap that is rendered for a fleet.

The user's text replaces the rendered bootstrap, is merged into it, or patches it. What Envoy needs
to reach the control plane, and what readiness depends on, must stay: these parts are compared as
protobuf messages, and a difference is refused with its path. Pure: a text and settings in, a text
out. Elsewhere: rendering (`contour.bootstrap`), and Envoy's own validation
(`contour.host.validating`).
"""

from contour.custombootstrap.applying import Applied, RefusedBootstrapError, applied, sentence
from contour.custombootstrap.reading import as_text, from_text

__all__ = ["Applied", "RefusedBootstrapError", "applied", "as_text", "from_text", "sentence"]
