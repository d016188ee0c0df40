"""Which EnvoyPatchPolicies change what of a fleet, and what are their authors told?

- `naming`: where the name of a resource leads.
- `policies`: whose Envoys a policy is for, whether it may be served, and what it changes.
- `status`: what its author is told.

Patches are applied where resources are translated (`contour.envoy.patches`).
"""
