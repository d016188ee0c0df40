"""EnvoyConfigs in a cluster: which namespaces are read, and their revisions as objects.

`following` reads them, on every replica, and writes the revisions as rows of the graph; `writing`
makes, marks and removes the objects, on the leader; `documents` is what an EnvoyConfigRevision says
and `steps` what is to be written next, both pure; `certifying` issues the certificates of Envoys.
On one machine `keeping` has the revisions in a file.
"""
