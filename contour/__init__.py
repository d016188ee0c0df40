"""The control plane: providers come in; xDS, statuses and infrastructure go out."""
