"""Policies of Envoy Gateway on Gateways, listeners, routes and rules of Gateways.

For which of them a policy is (`policytargets`, GEP-713), what its owner is told
(`policyancestors`), and what each kind means. Elsewhere: policies of the Gateway API itself
(`dag.gateway.policies`).
"""
