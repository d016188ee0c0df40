"""Where the components of a real control plane come from.

Components in `KUBEBUILDER_ASSETS` are used; for the others there is one binary with all of them,
built once with Go from `hack/kubernetes/control-plane` and kept in the user's cache under a hash of
its sources. Building takes minutes, so only `hack/cluster --build` does it, and a test run in CI
before its first test.
"""

import os
from pathlib import Path

from tests import golang

ROOT = golang.ROOT
CONTROL_PLANE = ROOT / "hack" / "kubernetes" / "control-plane"
GATEWAY_API = ROOT / "hack" / "kubernetes" / "gateway-api"
PARTS = ("etcd", "kube-apiserver", "kube-controller-manager")


def commands() -> dict[str, list[str]]:
    """The command that starts each component."""
    given = Path(os.environ.get("KUBEBUILDER_ASSETS") or os.devnull)
    found = {it: [str(given / it)] for it in PARTS if (given / it).is_file()}
    lacking = [it for it in PARTS if it not in found]
    if lacking and not _program().path.is_file():
        missing = ", ".join(lacking)
        raise golang.MissingError(
            f"no {missing}: set KUBEBUILDER_ASSETS, or build them once with `hack/cluster --build`"
        )
    return {it: found.get(it, [str(_program().path), it]) for it in PARTS}


def build() -> None:
    """Builds what `commands` lacks; one process builds at a time, and others wait for it."""
    try:
        commands()
    except golang.MissingError:
        _program().build()


def gateway_api_crds(channel: str = "standard") -> Path:
    """The folder with the CRDs of the Gateway API, in its Go module."""
    return golang.folder(GATEWAY_API, "sigs.k8s.io/gateway-api") / "config" / "crd" / channel


def _program() -> golang.Program:
    """The binary with all components."""
    version = golang.required(CONTROL_PLANE, "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".", 2)
    told = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    names = " ".join(f"-X k8s.io/component-base/version.{it}={told[it]}" for it in told)
    command = ("build", *golang.FLAGS, f"-ldflags=-s -w {names}")
    return golang.Program("control-plane", "kubernetes", CONTROL_PLANE, command)
