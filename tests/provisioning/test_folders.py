"""A folder of keys: private, and replaced all at once."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning import folders


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_only_the_owner_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    folders.write(folder, {"tls.crt": b"one", "tls.key": b"two"})
    for path in (folder, *folder.rglob("*")):
        assert not path.stat().st_mode & 0o077, path
    assert (folder / "tls.key").stat().st_mode & 0o777 == 0o600


def test_what_is_written_is_read_and_nothing_of_before_is_left(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for turn in (b"1", b"2", b"3"):
        folders.write(tmp_path, {"tls.crt": turn, "tls.key": turn})
        assert (tmp_path / "tls.crt").read_bytes() == folders.read(tmp_path, "tls.key") == turn
    assert sorted(it.name for it in tmp_path.iterdir() if not it.name.startswith("..")) == [
        "notes.txt", "tls.crt", "tls.key",
    ]  # fmt: skip
    assert len([it for it in tmp_path.iterdir() if it.is_dir() and not it.is_symlink()]) == 1
    assert folders.read(tmp_path, "absent") == b""


def test_a_plain_file_of_the_same_name_gives_way(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_bytes(b"by hand")
    folders.write(tmp_path, {"tls.crt": b"new"})
    assert (tmp_path / "tls.crt").read_bytes() == b"new"


def test_readers_see_one_generation(tmp_path: Path) -> None:
    """Through a folder that is held open, as a reader in the middle of its work holds it."""
    folders.write(tmp_path, {"tls.crt": b"1", "tls.key": b"1"})
    generation = (tmp_path / "..data").resolve()
    assert {it.read_bytes() for it in generation.iterdir()} == {b"1"}
    folders.write(tmp_path, {"tls.crt": b"2", "tls.key": b"2"})
    assert (tmp_path / "..data").resolve() != generation
    assert {it.read_bytes() for it in (tmp_path / "..data").iterdir()} == {b"2"}
