"""What an installation consists of: certificates, and the manifests rendered from templates.

For the controller, the operator and `hack/generate` alike; it knows neither of the former two.
"""
