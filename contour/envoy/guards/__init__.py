"""The guards of routes, each an HTTP filter of Envoy.

A module has the name of its filter, the filter's configuration in every chain (`installed`: it does
nothing by itself, so that the first host to use it drains no connection), and its configuration in
a route or virtual host. Elsewhere: the order of filters (`contour.envoy.filters`), and which ones a
route has (`policies`).
"""
