"""What commands ask: the manifests that are named, a `contour run` on this machine, or a cluster.

These are the options of all commands with which users choose that. Their values are kept outside
the parameters of a command, which does not need them itself.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

C = TypeVar("C", bound=Callable[..., object])

_KEPT = "contour.source"
_OF_CLUSTERS = ("in_cluster", "kubeconfig", "kube_context", "namespace", "instance")


class Source(NamedTuple):
    """What is to be asked."""

    state_dir: Path | None = None
    in_cluster: bool = False
    kubeconfig: str = ""
    kube_context: str = ""
    namespace: str = ""
    instance: str = ""

    @property
    def is_cluster(self) -> bool:
        """Whether an option says that an instance in a cluster is asked."""
        return any(getattr(self, it) for it in _OF_CLUSTERS)

    @property
    def may_be_cluster(self) -> bool:
        """Whether an instance in a cluster is asked where no `contour run` answers."""
        return self.is_cluster or (self.state_dir is None and has_kubeconfig())


def has_kubeconfig() -> bool:
    """Whether this user has a kubeconfig where kubectl looks for it."""
    home = os.environ.get("HOME", "")
    return bool(os.environ.get("KUBECONFIG")) or Path(home, ".kube", "config").is_file()


def chosen() -> Source:
    """The choice of the running command's options; raises UsageError if they contradict one
    another."""
    kept: dict[str, object] = click.get_current_context().meta.get(_KEPT, {})
    state_dir = kept.get("state_dir")
    texts = {it: str(kept.get(it) or "") for it in _OF_CLUSTERS[1:]}
    found = Source(
        state_dir if isinstance(state_dir, Path) else None, bool(kept.get("in_cluster")), **texts
    )
    if found.state_dir is not None and found.is_cluster:
        raise click.UsageError(
            "--state-dir asks a `contour run` on this machine: it does not go with --cluster, "
            "--kubeconfig, --context, --namespace and --instance"
        )
    return found


def refuse_contradictions(manifests: tuple[str, ...], *for_manifests: str) -> None:
    """Raises UsageError if the options of the running command contradict the choice between
    manifests, with which it asks nobody, and an instance that it asks.

    `for_manifests`: the parameters that make no sense without manifests.
    """
    context = click.get_current_context()
    kept: dict[str, object] = context.meta.get(_KEPT, {})
    for it in context.command.params:
        if manifests and it.name in ("state_dir", *_OF_CLUSTERS) and kept.get(it.name):
            raise click.UsageError(f"with manifests nobody is asked: leave out {it.opts[-1]}")
        is_given = context.params.get(it.name or "") not in (None, False)
        if not manifests and it.name in for_manifests and is_given:
            raise click.UsageError(f"{it.opts[-1]} is for manifests (PATH)")


def nobody(directory: Path) -> str:
    """The message if no `contour run` has this state directory, and no cluster may be asked."""
    of_command = {it.name for it in click.get_current_context().command.params}
    option = "--against" if "against" in of_command else "-f"
    manifests = f"manifests with {option}, " if "paths" in of_command else ""
    return (
        f"no instance runs with the state directory {directory}; name {manifests}that of a running "
        "`contour run` with --state-dir, or an instance in a cluster with --kubeconfig"
    )


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> object:
    kept: dict[str | None, object] = ctx.meta.setdefault(_KEPT, {})
    if value or param.name not in kept:  # the group of `kubectl contour` has the same options
        kept[param.name] = value
    return value


def of_kubectl(command: C) -> C:
    """The options that kubectl has for all of its commands, and `--instance`."""
    for add in reversed(_OPTIONS[2:]):
        command = add(command)
    return command


def require_cluster(ctx: click.Context) -> None:
    """Has the command ask an instance in a cluster from now on, whatever runs on this machine."""
    ctx.meta.setdefault(_KEPT, {})["in_cluster"] = True


ON_THIS_MACHINE = frozenset({"state_dir", "in_cluster"})
"""The parameters that decide whether a command asks this machine."""


def options(command: C) -> C:
    """`--state-dir`, `--cluster`, and what kubectl calls the same."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def in_clusters(command: C) -> C:
    """The same options without `--state-dir`, for a command that asks no `contour run`."""
    for add in reversed(_OPTIONS[1:]):
        command = add(command)
    return command


_OPTIONS = (
    click.option(
        "--state-dir", type=click.Path(path_type=Path), expose_value=False, callback=_keep,
        show_default="$XDG_RUNTIME_DIR/contour, or contour-UID in the temporary directory",
        help="Ask the running `contour run` with this state directory.",
    ),
    click.option(
        "--cluster", "in_cluster", is_flag=True, expose_value=False, callback=_keep,
        help="Ask the instance in the cluster of the kubeconfig, even if a `contour run` runs "
        "here. So do the options --kubeconfig, --context, --namespace and --instance.",
    ),
    click.option(
        "--kubeconfig", type=click.Path(), metavar="PATH", expose_value=False, callback=_keep,
        show_default="$KUBECONFIG, ~/.kube/config",
        help="Kubeconfig file by which a cluster is reached.",
    ),
    click.option(
        "--context", "kube_context", metavar="NAME", expose_value=False, callback=_keep,
        show_default="the current one", help="Context of the kubeconfig.",
    ),
    click.option(
        "-n", "--namespace", metavar="NAMESPACE", expose_value=False, callback=_keep,
        show_default="all", help="Namespace of the instance in the cluster.",
    ),
    click.option(
        "--instance", metavar="NAME", expose_value=False, callback=_keep,
        show_default="the only one",
        help="Name of the instance in the cluster: that of its ContourConfiguration.",
    ),
)  # fmt: skip
