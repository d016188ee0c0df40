"""Reading everything once."""

import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from contour import files
from tests.contour.files.written import Follower, proxy, stream


def read(*paths: Path) -> Follower:
    follower = Follower()
    batch = files.Manifests(paths).read()
    if not batch.is_empty:
        follower.take(batch)
    return follower


def test_folders_are_read_recursively_by_suffix(tmp_path: Path) -> None:
    inside = {
        "a.yaml": "a", "b.yml": "b", "deep/er/c.yaml": "c", "d.json": "d",
        "README.md": "no", ".hidden.yaml": "no", ".git/e.yaml": "no", "f.yaml~": "no",
    }  # fmt: skip
    for name, object_name in inside.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(proxy(object_name))
    assert sorted(read(tmp_path).fqdns) == ["a", "b", "c", "d"]


def test_a_file_given_by_name_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "manifests.txt"
    path.write_text(proxy("a"))
    assert list(read(path).fqdns) == ["a"]


def test_a_file_found_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(proxy("a"))
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    os.link(tmp_path / "a.yaml", tmp_path / "c.yaml")
    follower = read(tmp_path, tmp_path / "a.yaml", tmp_path / ".")
    assert list(follower.fqdns) == ["a"]
    assert not follower.complaints


def test_json_is_read(tmp_path: Path) -> None:
    raw = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    (tmp_path / "a.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [raw]})
    )
    batch = files.Manifests([tmp_path]).read()
    assert [event.key.name for event in batch.events] == ["a"]


def test_empty_files_and_comments_are_fine(tmp_path: Path) -> None:
    for name, text in {
        "a": "",
        "b": "\n\n",
        "c": "# nothing\n",
        "d": "---\n---\n",
        "e": "~\n",
    }.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    assert files.Manifests([tmp_path]).read().is_empty


def test_windows_files_are_fine(tmp_path: Path) -> None:
    text = stream(proxy("a"), proxy("b")).replace("\n", "\r\n")
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert sorted(read(tmp_path).fqdns) == ["a", "b"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = stream(proxy("a"), proxy("b").replace("80", "http"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    batch = files.Manifests([Path("-")]).read()
    assert [event.key.name for event in batch.events] == ["a"]
    assert str(batch.fresh[0]).startswith("<stdin>:25: HTTPProxy default/b: spec.routes[0]")


def test_standard_input_that_is_named_twice_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(proxy("a").encode())))
    assert list(read(Path("-"), Path("-")).fqdns) == ["a"]


def test_a_closed_standard_input_is_unreadable_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(files.UnreadableInput, match="<stdin>: standard input is closed"):
        files.Manifests([Path("-")]).read()


def test_a_pipe_with_a_name_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(proxy("a"),))
    writer.start()
    assert list(read(pipe).fqdns) == ["a"]
    writer.join()


def test_a_missing_path_is_unreadable_input(tmp_path: Path) -> None:
    with pytest.raises(files.UnreadableInput, match="nowhere: No such file or directory"):
        files.Manifests([tmp_path, tmp_path / "nowhere"]).read()


def test_a_path_that_leads_nowhere_is_unreadable_input(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("a.yaml")
    with pytest.raises(files.UnreadableInput, match=r"a\.yaml: Too many levels of symbolic links"):
        files.Manifests([tmp_path / "a.yaml"]).read()


def test_invalid_utf8_hurts_its_document_alone_and_has_its_line(tmp_path: Path) -> None:
    raw = stream(proxy("a"), proxy("b"), proxy("c")).encode()
    (tmp_path / "a.yaml").write_bytes(raw.replace(b"name: b", b"name: \xff"))
    follower = read(tmp_path)
    assert sorted(follower.fqdns) == ["a", "c"]
    ((complaint,),) = follower.complaints.values()
    assert str(complaint) == f"{tmp_path}/a.yaml:17: byte 0xff is not valid UTF-8"


def test_half_a_surrogate_pair_in_a_file_of_upstream_hurts_its_object_alone(tmp_path: Path) -> None:
    data = {"contour.yaml": "a: \ud800"}
    of = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    (tmp_path / "a.json").write_text(json.dumps(of))
    (tmp_path / "b.yaml").write_text(proxy("b"))
    follower = read(tmp_path)
    assert list(follower.fqdns) == ["b"]
    ((complaint,),) = follower.complaints.values()
    assert complaint.field == "data.contour.yaml"
    assert complaint.message == "must be valid Unicode text without NUL"


def test_what_only_has_the_name_of_a_manifest_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "b.yaml").write_text(proxy("b"))
    for name, target in {
        "nothing": "nowhere", "ring": "ring.yaml", "up": "folder", "zero": "/dev/zero",
        "b2": "b.yaml",
    }.items():  # fmt: skip
        (tmp_path / f"{name}.yaml").symlink_to(target)
    os.mkfifo(tmp_path / "pipe.yaml")
    os.mkfifo(tmp_path / "pipe.md")
    follower = read(tmp_path)
    assert list(follower.fqdns) == ["b"]
    assert sorted(follower.messages) == [
        "ignored: it is a link that cannot be followed (No such file or directory)",
        "ignored: it is a link that cannot be followed (Too many levels of symbolic links)",
        "ignored: it is a link to a folder",
        "ignored: it is a pipe, a socket or a device",
        "ignored: it is a pipe, a socket or a device",
    ]


def test_an_enormous_file_is_a_complaint(tmp_path: Path) -> None:
    with open(tmp_path / "a.yaml", "wb") as file:
        file.truncate(300 << 20)
    (tmp_path / "b.yaml").write_text(proxy("b"))
    follower = read(tmp_path)
    assert list(follower.fqdns) == ["b"]
    assert follower.messages == [
        "cannot read the file: larger than the 256 MiB that are read; its last good objects stay"
    ]
