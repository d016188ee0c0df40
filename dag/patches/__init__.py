"""EnvoyPatchPolicies: what they change of a fleet, and their statuses.

- `naming`: what the name of a resource in a policy stands for.
- `policies`: the fleet that a policy is for, whether it may be served, and what it changes.
- `status`: the status of a policy.

Patches are applied where resources are translated (`contour.envoy.patches`).
"""
