"""The rules: pure functions from what users write to what Envoy does and what statuses say."""
