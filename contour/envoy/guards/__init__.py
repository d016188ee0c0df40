"""What stands before the action of a route, each as an HTTP filter of Envoy.

A module has the name of its filter, what stands in every filter chain (`installed`: it does
nothing by itself, so that the first host to use it drains no connection), and what a route or a
virtual host says to it. Which come first: `contour.envoy.filters`. Which a route has: `policies`.
"""
