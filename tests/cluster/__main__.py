"""`hack/cluster`: a control plane to try things on, until it is interrupted."""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from tests import golang
from tests.cluster import assets, cluster, prepared, shared


def main() -> None:
    """Builds, owns or shows a control plane."""
    parser = argparse.ArgumentParser(prog="hack/cluster", description=__doc__)
    parser.add_argument("--build", action="store_true", help="build what is missing, start nothing")
    parser.add_argument("--bare", action="store_true", help="do not install the CRDs")
    parser.add_argument("--kubeconfig", type=Path, help="file to write the kubeconfig to")
    parser.add_argument("--own", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # A shell that runs no jobs of a terminal lets what it starts with `&` ignore SIGINT.
    for it in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(it, signal.default_int_handler)
    try:
        if options.own:
            shared.own(options.own)
            return
        assets.build()
        if not options.build:
            _show(options.kubeconfig, options.bare)
    except golang.MissingError as error:
        sys.exit(f"hack/cluster: {error}")
    except KeyboardInterrupt:
        pass


def _show(kubeconfig: Path | None, bare: bool) -> None:
    crds = () if bare else cluster.default_crds()
    with (
        tempfile.TemporaryDirectory(prefix="cluster-") as folder,
        prepared.running(Path(folder, "state"), *crds) as running,
    ):
        path = running.admin
        if kubeconfig:
            kubeconfig.write_text(path.read_text())
            path = kubeconfig
        print(f"{running.url} is ready. Elsewhere:\n\n  export KUBECONFIG={path}\n", flush=True)
        print("Ctrl-C stops it and forgets everything.", flush=True)
        signal.pause()


if __name__ == "__main__":
    os.umask(0o077)
    main()
