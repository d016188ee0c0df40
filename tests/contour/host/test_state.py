"""The state directory: whose it is, who holds it, and what a killed run leaves in it."""

import errno
import fcntl
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from contour import rundir
from contour.host import errors, state


def test_it_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with state.claimed(tmp_path / "some" / "where") as directory:
        assert directory.path.stat().st_mode & 0o777 == 0o700


def test_an_empty_directory_that_others_may_enter_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    with state.claimed(tmp_path / "open"):
        assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_a_directory_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    mode = tmp_path.stat().st_mode
    with pytest.raises(errors.RefusedError, match=r"thesis\.txt"), state.claimed(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert tmp_path.stat().st_mode == mode


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with (
        pytest.raises(errors.RefusedError, match="symbolic link"),
        state.claimed(tmp_path / "link"),
    ):
        pass


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.RefusedError, match="File exists"), state.claimed(tmp_path / "file"):
        pass


def test_one_on_a_full_disk_is_refused_in_one_line(tmp_path: Path) -> None:
    """No file may grow by a byte, as if the disk were full."""
    command = "from contour.cli import main; main()"
    (tmp_path / "manifests").mkdir()
    told = subprocess.run(
        (
            *("prlimit", "--fsize=0", sys.executable, "-c", command, "run"),
            *(str(tmp_path / "manifests"), "--state-dir", str(tmp_path / "state")),
        ),
        capture_output=True,
        check=False,
        text=True,
    )
    assert told.returncode == 2
    path = tmp_path / "state"
    assert told.stderr == f"contour: cannot keep state in {path} (--state-dir): File too large\n"


def test_a_file_that_cannot_be_written_is_told_with_the_directory(tmp_path: Path) -> None:
    with state.claimed(tmp_path / "state") as directory:
        shutil.rmtree(directory.path)
        with pytest.raises(errors.RefusedError, match=r"cannot keep state in .*No such file"):
            directory.write("bootstrap.json", "{}")
        directory.path.mkdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory another user's")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)
    with (
        pytest.raises(errors.RefusedError, match="belongs to another user"),
        state.claimed(tmp_path / "theirs"),
    ):
        pass


def test_one_that_its_owner_may_not_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listdir(_: Path) -> list[str]:  # root, who may run this test, may read everything
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", listdir)
    with (
        pytest.raises(errors.RefusedError, match=r"cannot keep state in .*: Permission denied"),
        state.claimed(tmp_path / "state"),
    ):
        pass


def test_two_runs_cannot_hold_the_same_directory(tmp_path: Path) -> None:
    with (
        state.claimed(tmp_path / "state"),
        pytest.raises(errors.OccupiedError, match=f"process {os.getpid()}"),
        state.claimed(tmp_path / "state"),
    ):
        pass
    with state.claimed(tmp_path / "state"):
        pass


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    with state.claimed(tmp_path / "state") as directory:
        directory.write("envoy.log", "kept for reading")
    for stale in ("ready", "xds.sock", "admin.sock"):
        (tmp_path / "state" / stale).touch()
    with state.claimed(tmp_path / "state") as directory:
        left = {path.name for path in directory.path.iterdir()}
        assert left == {"contour.lock", "envoy.log"}


def test_the_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from contour.host import state\n"
        "with state.claimed(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "state")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(errors.OccupiedError, match=str(holder.pid)),
            state.claimed(tmp_path / "state"),
        ):
            pass
        holder.kill()
    with state.claimed(tmp_path / "state"):
        pass


@pytest.mark.parametrize("length", [40, 120, 200])
def test_sockets_work_however_long_the_path_is(tmp_path: Path, length: int) -> None:
    path = tmp_path / ("d" * length)
    with state.claimed(path) as directory, socket.socket(socket.AF_UNIX) as server:
        server.bind(str(directory.socket("sixteen-byte.sok")))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(rundir.socket(path, "sixteen-byte.sok")))
        short = directory.socket("x").parent
    assert short == path or not short.exists()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, f"/contour-{os.geteuid()}"),
        ({"XDG_RUNTIME_DIR": "/nowhere"}, f"/contour-{os.geteuid()}"),
    ],
)
def test_without_a_runtime_directory_state_is_kept_in_a_temporary_one_of_this_user(
    environment: dict[str, str], expected: str
) -> None:
    assert str(rundir.default_path(environment)).endswith(expected)


def test_a_long_path_leaves_no_sockets_behind_even_if_it_is_removed_meanwhile(
    tmp_path: Path,
) -> None:
    path = tmp_path / ("d" * 120)
    with state.claimed(path) as directory:
        place = directory.socket("x").parent
        assert place.exists()
        shutil.rmtree(path)
    assert not place.exists()


def test_state_is_kept_in_the_runtime_directory_if_there_is_one(tmp_path: Path) -> None:
    assert rundir.default_path({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "contour"


def test_one_that_cannot_be_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_: object, __: int) -> None:  # as on a network file system
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with (
        pytest.raises(errors.RefusedError, match="it cannot be locked: No locks available"),
        state.claimed(tmp_path / "state"),
    ):
        pass


@pytest.mark.parametrize("name", ["state", "a-long-name" * 12])
def test_who_cleans_temporary_directories_leaves_it_alone(tmp_path: Path, name: str) -> None:
    with state.claimed(tmp_path / name) as directory:
        places = {directory.path, directory.socket("xds.sock").parent}
        assert len(places) == 1 + (name != "state")
        assert not any(map(_is_free, places))
    assert _is_free(tmp_path / name)


def _is_free(directory: Path) -> bool:
    """Whether systemd-tmpfiles would remove what is old in a directory: it locks it before."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
