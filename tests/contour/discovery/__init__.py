"""EnvoyConfigs in a cluster: revisions as objects."""
