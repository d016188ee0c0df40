"""Chooses the access to the API server: the named kubeconfig, the pod's access, or the user's.

The order is that of other controllers (controller-runtime, `GetConfig`), so it does what users
expect, started on a workstation or in a pod.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from kube.credentials import Access, AccessError
from kube.kubeconfig import Kubeconfig
from kube.pod import Pod


def found(
    kubeconfig: str = "", context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Access:
    """A file that was named, `$KUBECONFIG`, the pod's service account, or `~/.kube/config`."""
    named = kubeconfig or environ.get("KUBECONFIG", "")
    pod = Pod(environ)
    if not named and context is None and pod.is_here:
        return pod
    default = Path(environ.get("HOME", "~"), ".kube", "config").expanduser()
    if not named and not default.is_file():
        raise AccessError(
            "no access to an API server: not in a pod, KUBECONFIG is not set, "
            f"and there is no {default}"
        )
    return Kubeconfig(named or str(default), context)
