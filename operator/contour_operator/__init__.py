"""The operator: it makes, repairs and removes instances of the controller."""
