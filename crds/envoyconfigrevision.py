"""EnvoyConfigRevision (marin3r.3scale.net/v1alpha1): one content that an EnvoyConfig had.

Made by the control plane, one for each version, and never by users. It holds the resources as the
EnvoyConfig had them, and in its status what Envoys made of them.
"""

from crds.envoyconfig import EnvoyConfigSpec
from crds.fields import NonEmpty
from crds.meta import ObjectMeta, model


@model
class EnvoyConfigRevisionSpec(EnvoyConfigSpec):
    """One content that an EnvoyConfig had, in the spelling that it had then, with its version."""

    version: NonEmpty
    """The version of the content: a hash of the canonical form of its resources."""


@model
class EnvoyConfigRevision:
    """One content that an EnvoyConfig had. The control plane makes and removes these objects; use
    EnvoyConfigs instead."""

    metadata: ObjectMeta
    spec: EnvoyConfigRevisionSpec
