"""Manifests and settings of other controllers, converted to ours: for `contour convert`.

`ingressnginx` makes HTTPProxies of Ingresses; `contourfile` makes a ContourConfiguration of the
configuration of upstream Contour. Nothing is applied: people should read the documents first. What
could not be converted is reported (`told`); if a path would be unguarded without it, the path is
left out.
"""
