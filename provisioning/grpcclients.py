"""The objects that an administrator applies for certificates of gRPC clients in a cluster.

An instance reads the authority that signs them, in its own namespace. The right to make the Secrets
is bound in the namespaces of `certificateNamespaces`.
"""

from crds.raw import Raw
from provisioning import rights, templating
from provisioning.installation import Place

CERTIFICATES_ROLE = "contour-grpc-certificates"
"""The ClusterRole of an instance where it issues certificates for gRPC clients."""
AUTHORITY_ROLE = "contour-grpc-authority"


def documents(place: Place) -> list[Raw]:
    """The objects for an instance."""
    values = {
        "role": CERTIFICATES_ROLE,
        "rights": rights.of_grpc_certificates(place.named("grpccert")),
        "authority_role": AUTHORITY_ROLE,
        "authority_rights": rights.of_authority(place.named("contour-authority")),
        "account": place.named("contour"),
        "namespace": place.namespace,
    }
    return templating.documents("grpc_clients", values)
