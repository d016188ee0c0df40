"""Policies of Envoy Gateway on Gateways, listeners, routes and rules of Gateways.

Which targets a policy is for (`policytargets`, GEP-713), what its owner is told
(`policyancestors`), and what each kind means. Elsewhere: policies of the Gateway API itself
(`dag.gateway.policies`).
"""
