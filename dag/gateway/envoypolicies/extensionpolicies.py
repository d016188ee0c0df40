"""EnvoyExtensionPolicies: none of what they ask for is served, and all of it may guard something.

So the routes of a policy are closed, and its owner is told by the names of its fields.
"""

from crds.envoygateway.extensionpolicy import EnvoyExtensionPolicySpec
from dag import tables
from dag.engine.view import View
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects
from dag.gateway.envoypolicies.policytargets import ALL_TARGETS, PolicyKind
from dag.problems.places import Findings, Place

KIND = "EnvoyExtensionPolicy"
POLICIES = PolicyKind(KIND, tables.EXTENSION_POLICIES, ALL_TARGETS)


def _extensions(_view: View, _spec: EnvoyExtensionPolicySpec, _own: Place) -> Findings[bool]:
    """Whether a policy closes its routes: not by what is no field of it."""
    yield from ()
    return False


EFFECTS = Effects(Ancestry(POLICIES), _extensions, closed=True)
