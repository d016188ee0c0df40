"""Which Services an edit of EndpointSlices concerns."""

from collections.abc import Iterable, Iterator

from crds.meta import ObjectRef
from dag import tables
from dag.engine.incremental import Engine


def services_of(engine: Engine, subjects: Iterable[ObjectRef]) -> Iterator[ObjectRef]:
    """The Services to which the EndpointSlices among the objects belong now."""
    for it in subjects:
        if it.kind != "EndpointSlice":
            continue
        found = engine.row(tables.ENDPOINT_SLICES, it.key)
        name = found.metadata.labels.get(_SERVICE) if found is not None else None
        if name:
            yield ObjectRef("Service", it.namespace, name)


_SERVICE = "kubernetes.io/service-name"
