"""Annotations of other controllers on objects that we serve, and what of ours replaces them.

One table for each project: what an annotation does there (its effect), and the field or annotation
of ours that does the same. Whoever converts objects of those projects reads the same tables.
Sources: the lists of annotations that ingress-nginx, HAProxy's Kubernetes Ingress Controller,
HAProxy Ingress and Traefik document. Elsewhere: what is reported and closed
(`dag.foreign.ignored`).
"""
