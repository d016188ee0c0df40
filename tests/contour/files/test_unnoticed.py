"""Changes of which the kernel tells nothing, or not enough: network file systems, missing files,
and what a file system refuses for a moment."""

from pathlib import Path

import pytest

from contour.files import tracking
from tests.contour.files.written import following, proxy

NEW = "new.example.com"


@pytest.mark.parametrize("is_here", [True, False])
async def test_a_file_given_by_name_is_followed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_here: bool
) -> None:
    monkeypatch.setattr(tracking, "LOOK_EVERY", 3600.0)
    monkeypatch.chdir(tmp_path)
    path = Path("a.yaml") if is_here else tmp_path / "a.yaml"
    path.write_text(proxy("a"))
    async with following(path) as follower:
        path.unlink()
        await follower.until(lambda: not follower.fqdns)
        (tmp_path / "folder").mkdir()  # which has everything listed again
        (tmp_path / "b.yaml").write_text(proxy("b"))
        path.write_text(proxy("a", NEW))
        await follower.until(lambda: follower.fqdns == {"a": NEW})
