"""Pods for the tests: what a node does in life, done with local processes.

A Node, a kubelet, a scheduler, a kube-proxy, a cluster DNS and a cloud's load balancer, as far as
tests need them; the controllers in between are the real ones of `tests.cluster`. Every pod is a
network namespace, every container a process with its own mounts in it. `tests/pods/README.md` says
what is like in life and what is not; `runner.running` is the way in.
"""
