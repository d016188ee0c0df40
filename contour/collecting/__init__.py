"""What a bug report needs to know, in one archive, and nothing that is secret.

`redaction` says what stays of a value, `archive` writes the files; `cluster` gathers them from an
instance in a cluster, `machine` from a `contour run`.
"""
