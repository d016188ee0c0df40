"""The file that `--config-path` names, which replaces a ContourConfiguration.

`reading` decodes it as an EnvoyGateway, `translation` maps that to our settings, and `source`
follows the file, which is then the only source of configuration.
"""
