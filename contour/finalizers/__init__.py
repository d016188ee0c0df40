"""What keeps Gateways and GatewayClasses from going before those who need them have left."""
