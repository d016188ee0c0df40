"""Finalizers, which keep Gateways and GatewayClasses until nothing uses them any more."""
