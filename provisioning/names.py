"""Default names and images of an installation; also used in the help of commands."""

from datetime import timedelta
from importlib import metadata

VERSION = metadata.version("contour-ingress")
IMAGE = f"contour-ingress:{VERSION}"
ENVOY_IMAGE = "docker.io/envoyproxy/envoy:distroless-v1.40.0"

RATE_LIMIT_IMAGE = "docker.io/envoyproxy/ratelimit:3fb70258"
"""The rate limit image, of the commit that `hack/ratelimit` requires."""

NAMESPACE = "projectcontour"
"""The namespace of an instance."""

OPERATORS_NAMESPACE = "contour-operator"

LONGEST_LEAF_LIFETIME = timedelta(days=90)
"""The longest lifetime of a certificate that is not an authority's."""
