"""Where the parts of a real control plane come from.

`KUBEBUILDER_ASSETS`, for the parts that are there; else one binary that is all of them, built once
with Go from `hack/kubernetes/control-plane` and kept in the user's cache under a hash of its
sources. Building takes minutes and so is never a surprise: only `hack/cluster --build` does it, and
a test run in CI before its first test.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTROL_PLANE = ROOT / "hack" / "kubernetes" / "control-plane"
GATEWAY_API = ROOT / "hack" / "kubernetes" / "gateway-api"
PARTS = ("etcd", "kube-apiserver", "kube-controller-manager")


class MissingError(Exception):
    """What is not there, and how to get it."""


def commands() -> dict[str, list[str]]:
    """How to start each part."""
    given = Path(os.environ.get("KUBEBUILDER_ASSETS") or os.devnull)
    found = {it: [str(given / it)] for it in PARTS if (given / it).is_file()}
    lacking = [it for it in PARTS if it not in found]
    if lacking and not _cached().is_file():
        missing = ", ".join(lacking)
        raise MissingError(
            f"no {missing}: set KUBEBUILDER_ASSETS, or build them once with `hack/cluster --build`"
        )
    return {it: found.get(it, [str(_cached()), it]) for it in PARTS}


def build() -> None:
    """Builds what `commands` lacks; at most one process does, the others wait for it."""
    try:
        commands()
    except MissingError:
        _build(_cached())


def gateway_api_crds(channel: str = "standard") -> Path:
    """The folder with the CRDs of the Gateway API, from its Go module."""
    return _module("sigs.k8s.io/gateway-api") / "config" / "crd" / channel


def _cached() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "contour-ingress" / "kubernetes" / _hash() / "control-plane"


def _hash() -> str:
    """Of what the binary is made from."""
    sources = [CONTROL_PLANE / it for it in ("go.mod", "go.sum", "main.go")]
    content = b"".join(it.read_bytes() for it in sources) + " ".join(_flags()).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _flags() -> list[str]:
    version = next(
        line.split()[1]
        for line in (CONTROL_PLANE / "go.mod").read_text().splitlines()
        if line.split()[:1] == ["k8s.io/kubernetes"]
    )
    major, minor, _ = version.removeprefix("v").split(".", 2)
    told = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    names = " ".join(f"-X k8s.io/component-base/version.{it}={told[it]}" for it in told)
    return ["-mod=readonly", "-trimpath", "-buildvcs=false", f"-ldflags=-s -w {names}"]


def _build(target: Path) -> None:
    go = _go()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.with_suffix(".lock")):
        if target.is_file():
            return
        print("Building the control plane of Kubernetes (once, some minutes) ...", file=sys.stderr)
        fresh = target.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [go, "build", *_flags(), "-o", str(fresh), "."],
            cwd=CONTROL_PLANE, env=os.environ | {"CGO_ENABLED": "0"}, check=True,
        )  # fmt: skip
        fresh.rename(target)


def _module(name: str) -> Path:
    """Where Go keeps a module of ours, after it fetched it if need be."""
    told = subprocess.run(
        [_go(), "mod", "download", "-json", name],
        cwd=GATEWAY_API, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(told.stdout or "{}")
    if "Dir" not in found:
        raise MissingError(f"no {name}: {found.get('Error', told.stderr)}")
    return Path(found["Dir"])


def _go() -> str:
    found = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not found:
        raise MissingError("no Go toolchain (`go`) to build with or to fetch a module with")
    return found


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
