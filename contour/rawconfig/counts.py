"""How often the revisions that Envoys of node IDs are served have changed, and why, by
namespace."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from contour.rawconfig.snapshot import Snapshot
from dag.rawconfig.revisions import Revision


@dataclass(slots=True)
class Counts:
    """Numbers that only grow."""

    published: Counter[str] = field(default_factory=Counter[str])
    """Revisions that were published."""
    taints: Counter[str] = field(default_factory=Counter[str])
    """Revisions that Envoys refused."""
    rollbacks: Counter[str] = field(default_factory=Counter[str])
    """Publications of an older revision instead of the one that is written."""

    def note_published(
        self, namespace: str, old: Snapshot | None, new: Snapshot | None, desired: str
    ) -> None:
        """Another revision is served; `desired` is the version of the written one."""
        if new is None or (old is not None and old.edition == new.edition):
            return
        self.published[namespace] += 1
        self.rollbacks[namespace] += old is not None and old.version == desired != new.version

    def note_verdicts(
        self, namespace: str, old: Sequence[Revision], new: Sequence[Revision]
    ) -> None:
        """The revisions, or the results of Envoys for them, have changed."""
        before = {it.content.version for it in old if not it.taint}
        self.taints[namespace] += sum(bool(it.taint) and it.content.version in before for it in new)
