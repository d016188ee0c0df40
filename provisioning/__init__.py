"""The objects of an installation: certificates, and manifests rendered from templates.

For the controller, the operator and `hack/generate` alike; it depends on neither of the first two.
"""
