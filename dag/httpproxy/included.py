"""Marks an HTTPProxy that a root includes, directly or through others."""

from typing import NamedTuple

from crds.meta import NamespacedName


class IncludedProxy(NamedTuple):
    """An HTTPProxy that is part of an expansion."""

    key: NamespacedName
