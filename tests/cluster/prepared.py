"""Control planes that start with CRDs.

The content of etcd with the CRDs is made once and kept in the user's cache. A control plane that
starts with a copy of it needs half the CPU time of one that gets the CRDs later (3.4 s instead of
6.3 s), and is ready in 3.5 s instead of 7. Without CRDs it needs 1.5 s instead of 2.0, because its
own roles are there.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests import cache
from tests.cluster import assets, controlplane
from tests.cluster.cluster import Cluster

_KEPT = 16
"""How many sets of CRDs are kept, at some 65 MB each."""


@contextmanager
def running(
    folder: Path, *crds: Path, controllers: Sequence[str] = controlplane.CONTROLLERS
) -> Iterator[Cluster]:
    """A control plane in a folder, which serves the CRDs of these folders and no others."""
    with controlplane.ControlPlane(folder, controllers, stored=stored(*crds)) as it:
        cluster = Cluster(it.folder)
        cluster.until_crds_are_served()
        yield cluster


def stored(*crds: Path) -> Path:
    """A folder of etcd with these CRDs, and with what an API server makes by itself."""
    kept = cache.folder("etcd", hash_of(crds))
    if not cache.is_there(kept):
        with cache.alone(kept), tempfile.TemporaryDirectory(dir=kept.parent) as place:
            if not cache.is_there(kept):
                _made(Path(place), crds).rename(kept)
                cache.forget(kept.parent, _KEPT)
    return kept


def hash_of(crds: Sequence[Path]) -> str:
    """A hash of all that the content depends on: the programs and the CRDs."""
    found = hashlib.sha256()
    for program in sorted({command[0] for command in assets.commands().values()}):
        found.update(f"{program} {Path(program).stat().st_mtime_ns}".encode())
    for folder in crds:
        for path in sorted(folder.glob("*.yaml")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _made(place: Path, crds: Sequence[Path]) -> Path:
    """A folder of etcd from a control plane in which the CRDs were installed. It ran no
    controllers, since what they write belongs to each cluster that starts with a copy."""
    with controlplane.ControlPlane(place / "cluster", controllers=()) as it:
        Cluster(it.folder).install_crds(*crds)
        it.stop()
        # The next segment of the log, allocated beforehand: etcd makes another one.
        spare = shutil.ignore_patterns("*.tmp")
        return Path(shutil.copytree(it.folder / "etcd", place / "etcd", ignore=spare))
