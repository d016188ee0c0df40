"""Whatever the rules accept, Envoy accepts: generated objects through a running Envoy.

HTTPProxies are made of *features*, so that it can be said which pairs of these Envoy has seen
(`features`, `proxies`); ContourConfigurations are grown from their schema (`configurations`).
`live` is the instance, `coverage` counts. A share of it is a test, all of it is
`hack/fuzz --envoy`.
"""
