"""The reasons of the conditions and Events that the operator writes, apart from those of single
objects (`provisioning.keeping.problems`)."""

from enum import StrEnum


class Reason(StrEnum):
    """A reason in the status of a ContourConfiguration, or of an Event about it."""

    # Provisioned
    PROVISIONED = "Provisioned"
    INVALID = "Invalid"
    """A field of the configuration is not valid."""
    NAMESPACE_IN_USE = "NamespaceInUse"
    """The namespace has an instance of another configuration."""
    NOT_TRUSTED = "NotTrusted"
    """The authors of the namespace may not ask for that."""
    DELETING = "Deleting"

    # Progressing
    NOT_PROVISIONED = "NotProvisioned"
    ROLLING_OUT = "RollingOut"
    ROLLOUT_FAILED = "RolloutFailed"
    ROLLOUT_COMPLETE = "RolloutComplete"

    # Available
    CONTOUR_AVAILABLE = "ContourAvailable"
    CONTOUR_UNAVAILABLE = "ContourUnavailable"
    CONTOUR_UNKNOWN = "ContourUnknown"
    ENVOY_UNAVAILABLE = "EnvoyUnavailable"

    # Events
    CLEANUP_INCOMPLETE = "CleanupIncomplete"
    """Objects that the operator may not delete are left."""
