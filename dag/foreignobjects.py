"""Objects of the kinds that extensions bring, as rows: nobody here knows what they mean."""

from dag import nodes
from dag.engine.view import Table

OBJECTS: Table[nodes.ForeignKey, bytes] = Table("objects of extensions")
"""Each as JSON, as extensions are sent it: without `managedFields`, `resourceVersion`, `status`."""
