"""What random objects refer to: Services, Secrets and delegations, in a world of their own."""

from crds.meta import NamespacedName
from dag import tables
from dag.engine.incremental import Engine
from dag.engine.view import Plan
from dag.plan import PLAN
from tests.dag.httpproxy.generated import Document
from tests.dag.httpproxy.manifests import services
from tests.dag.world import FLEET, apply
from tests.testbed import pairs, tokens

MANIFESTS = (
    services("s1", "s2")
    + pairs.secret("cert")
    + pairs.secret("cert", "other")
    + pairs.authority("ca")
    + pairs.authority("ca", "other")
    + pairs.revocations("crl")
    + f"""
---
apiVersion: v1
kind: Secret
metadata: {{name: keys}}
stringData: {{jwks: '{tokens.jwks()}'}}
"""
    + """
---
apiVersion: v1
kind: Service
metadata: {name: external}
spec: {type: ExternalName, externalName: b.com, ports: [{port: 80}]}
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: delegation, namespace: other}
spec: {delegations: [{secretName: cert, targetNamespaces: ['*']}]}
"""
)


def engine(more: Plan | None = None) -> Engine:
    """An engine, settled over all of it; more is what is to be kept beside the graph."""
    found = Engine(PLAN + more if more is not None else PLAN)
    found.write(tables.FLEETS, FLEET, True)
    apply(found, MANIFESTS)
    return found


def key(document: Document) -> NamespacedName:
    """The identity of a document."""
    return NamespacedName(document["metadata"]["namespace"], document["metadata"]["name"])
