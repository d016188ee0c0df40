"""The file that `--config-path` names: it says what a ContourConfiguration says elsewhere.

`reading` makes an EnvoyGateway of its bytes, `translation` maps that onto our settings, `source`
follows the file and is the only source of configuration while there is one.
"""
