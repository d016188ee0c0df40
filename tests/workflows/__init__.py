"""The five ways to run this in a cluster, each from `kubectl apply` of our own manifests.

Everything runs as pods of the installed wheel under its own ServiceAccount, with RBAC on; the
administrator's rights are only for what a user applies. Each ends with HTTP answers through the
fleet's Service and with statuses.
"""
