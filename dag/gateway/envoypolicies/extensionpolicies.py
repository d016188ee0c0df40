"""EnvoyExtensionPolicies: nothing that they ask for is served, but any of it may be a guard.

So the routes of a policy are closed, and its status names the fields.
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
    """False: a policy without fields closes nothing; each of its fields does
    (`unserved_guards`)."""
    yield from ()
    return False


EFFECTS = Effects(Ancestry(POLICIES), _extensions, closed=True)
