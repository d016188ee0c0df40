"""The rules of Ingress and IngressClass (networking.k8s.io/v1)."""
