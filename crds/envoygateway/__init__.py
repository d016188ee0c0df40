"""The kinds of Envoy Gateway (`gateway.envoyproxy.io`) that the project reads."""
