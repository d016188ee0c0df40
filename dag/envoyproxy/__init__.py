"""What an EnvoyProxy says of a fleet: whether it makes sense, and what it comes to."""
