"""How a container's process is started: its own root, mounts, host name, user and rights.

A chain of small programs that replace one another, so the process that is started is the
container's: `nsenter` into the pod's network, `unshare` of mounts and host name, a shell that
mounts, `chroot`, `setpriv` to the user, the command. The root is a tmpfs in which this machine's
programs appear, read-only, and a copy of its /etc, in which volumes find their places; what else of
this machine is seen is what the image names.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FREE_PORTS = "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"  # as container runtimes do


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of this machine, and where the container sees it."""

    source: Path
    path: str
    is_read_only: bool = True


@dataclass(frozen=True, slots=True)
class Sandbox:
    """All that a container's process is surrounded by."""

    root: Path  # an empty folder to mount its root on
    network: str  # a namespace
    hostname: str
    mounts: Sequence[Mount] = ()
    user: int = 0
    groups: Sequence[int] = field(default=(0,))  # the first is the primary one
    is_read_only: bool = False
    is_restricted: bool = False  # no capabilities, no new privileges
    folder: str = "/"

    def launch(self, command: Sequence[str]) -> list[str]:
        """The command that starts this command inside; writes down what it will mount."""
        lines = [*_common_mounts(), *map(_line, self._own_mounts())]
        self._table.write_text("".join(it.replace("@", str(self.root), 1) + "\n" for it in lines))
        script = "\n".join(self._script(command))
        return [
            "/usr/bin/nsenter", f"--net=/run/netns/{self.network}",
            "/usr/bin/unshare", "--mount", "--uts", "/bin/sh", "-ec", script,
        ]  # fmt: skip

    def enter(self, pid: int, command: Sequence[str]) -> list[str]:
        """The command that starts another one beside a process that runs inside."""
        return [
            "/usr/bin/nsenter", f"--target={pid}", "--net", "--mount", "--uts", "--root", "--wd",
            *self._drop(), "--", *command,
        ]  # fmt: skip

    def environment(self, asked: Mapping[str, str], image: Mapping[str, str]) -> dict[str, str]:
        """What a process has in its environment."""
        own = {"PATH": _PATH, "HOME": "/", "HOSTNAME": self.hostname, "LANG": "C.UTF-8"}
        return {**own, **image, **asked}

    def _script(self, command: Sequence[str]) -> Iterator[str]:
        root = shlex.quote(str(self.root))
        yield f"/bin/mount -t tmpfs -o mode=755 tmpfs {root}; cd {root}"
        yield "umask 022; /bin/mkdir -p usr etc proc dev sys tmp run var/tmp"
        yield "/bin/chmod 1777 tmp var/tmp"
        yield "/bin/cp -a /etc/. etc/"
        yield from _system()
        for it in self._own_mounts():
            yield _make_place(it)
        yield f"/bin/mount --all --fstab {shlex.quote(str(self._table))}"
        yield f"{_FREE_PORTS}; /bin/hostname {self.hostname}"
        if self.is_read_only:
            yield "/bin/mount -o remount,ro ."
        inner = shlex.join(command)
        start = f"cd {shlex.quote(self.folder)} && exec {shlex.join(self._drop())} -- {inner}"
        yield f"exec /usr/sbin/chroot . /bin/sh -c {shlex.quote(start)} </dev/null"

    @property
    def _table(self) -> Path:
        return self.root.with_name(f"{self.root.name}.mounts")

    def _own_mounts(self) -> list[Mount]:
        """Without what is there already."""
        there = tuple(f"/{it}/" for it in ("usr", *_SYSTEM))
        return [it for it in self.mounts if not it.path.startswith(there)]

    def _drop(self) -> list[str]:
        """To the user; the process ends with the runner."""
        groups = ",".join(map(str, self.groups))
        rights = ["--no-new-privs", "--bounding-set=-all"] if self.is_restricted else []
        return [
            "/usr/bin/setpriv", f"--reuid={self.user}", f"--regid={self.groups[0]}",
            f"--groups={groups}", *rights, "--inh-caps=-all", "--pdeathsig=KILL",
        ]  # fmt: skip


def _system() -> Iterator[str]:
    """/bin and the like, links or folders as they are here."""
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield f"/bin/ln -s {os.readlink(path)} {name}"
        elif path.is_dir():
            yield f"/bin/mkdir {name}"


def _common_mounts() -> Iterator[str]:
    real = [
        name for name in _SYSTEM if Path("/", name).is_dir() and not Path("/", name).is_symlink()
    ]
    for name in ["usr", *real]:
        yield f"/{name} @/{name} none bind,ro 0 0"
    yield "/proc @/proc none bind 0 0"
    yield "/sys @/sys none bind,ro 0 0"
    yield "/dev @/dev none bind 0 0"
    yield "tmpfs @/dev/shm tmpfs mode=1777 0 0"


def _make_place(it: Mount) -> str:
    place = shlex.quote("." + it.path)
    if it.path.startswith("/dev/") and Path(it.path).exists():
        return ":"
    if it.source.is_dir():
        return f"/bin/mkdir -p {place}"
    folder = shlex.quote("." + str(Path(it.path).parent))
    return f"/bin/mkdir -p {folder}; /bin/rm -f {place}; : > {place}"


def _line(it: Mount) -> str:
    escaped = str(it.source).replace(" ", "\\040")
    # A volume may cover the place: programs below /tmp, where there is one.
    place = ",X-mount.mkdir" if it.source.is_dir() else ""
    return f"{escaped} @{it.path} none bind{',ro' if it.is_read_only else ''}{place} 0 0"
