"""The messages of `envoy-data-plane`, whose modules make pydantic warn when they are loaded."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from envoy_data_plane.envoy.config.cluster import v3 as cluster
    from envoy_data_plane.envoy.config.endpoint import v3 as endpoint
    from envoy_data_plane.envoy.config.listener import v3 as listener
    from envoy_data_plane.envoy.config.route import v3 as route

__all__ = ["cluster", "endpoint", "listener", "route"]
