"""Said of an HTTPProxy that a root, or what it includes, leads to."""

from typing import NamedTuple

from crds.meta import NamespacedName


class IncludedProxy(NamedTuple):
    """An HTTPProxy that is part of an expansion."""

    key: NamespacedName
