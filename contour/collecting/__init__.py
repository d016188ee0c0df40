"""Collects what a bug report needs in one archive, without secrets.

`redaction` decides what stays of a value, `archive` writes the files; `cluster` gathers them from
an instance in a cluster, `machine` from a `contour run`.
"""
