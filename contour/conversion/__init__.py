"""Manifests and settings of other controllers, converted to ours: for `contour convert`.

`ingressnginx` makes HTTPProxies of Ingresses; `contourfile` makes a ContourConfiguration of what
configures upstream Contour. Nothing is applied: the documents are for people to read first. What
could not be converted is told (`told`), and what would be open without it is left out.
"""
