"""Objects that an administrator applies to turn on `spec.discovery`: EnvoyConfigs of a cluster.

The definitions and the rights to read EnvoyConfigs and write their revisions are for all instances
(`manifests.opted_in`). The right to make Secrets with certificates for Envoys is bound by
namespace.
"""

from crds import kinds
from crds.raw import Raw
from provisioning import manifests, rights, templating
from provisioning.installation import Place

NODE_CERTIFICATES_ROLE = "contour-node-certificates"
"""The ClusterRole of an instance where it issues certificates for the Envoys of EnvoyConfigs."""


def documents(place: Place) -> list[Raw]:
    """The objects for an instance, whose own namespace is the first one with EnvoyConfigs."""
    values = {
        "role": NODE_CERTIFICATES_ROLE,
        "rights": rights.of_node_certificates(),
        "account": place.named("contour"),
        "namespace": place.namespace,
    }
    found = templating.documents("discovery", values)
    return [*manifests.opted_in(kinds.MARIN3R), *found]
