"""Applies EnvoyPatchPolicies to Envoy's configuration.

- `documents`: resources as JSON, and back.
- `applying`: the patches of one place, policy by policy.
- `places`: which fields of a listener, virtual host or cluster must stay, so that it can be served.
- `layers`: what is served where a patch is refused.

Which patch is for which place is decided in `dag.patches`; they are applied after the extensions.
The queries are in `contour.envoy.patching`.
"""
