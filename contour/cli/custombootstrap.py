"""Reads the file of `contour bootstrap --custom` or `contour run --bootstrap`, and applies it."""

import os
import tempfile
from pathlib import Path

import click

from contour import bootstrap, custombootstrap
from contour.host import errors, validating
from crds.custombootstrap import CustomBootstrap


def from_file(path: Path, option: str) -> CustomBootstrap:
    """What a file asks for. Raises RefusedError."""
    try:
        content = _content(path)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.RefusedError(f"{option}: cannot read {path}: {error}") from error
    custom, found = custombootstrap.from_text(content)
    if custom is None:
        said = "; ".join(map(custombootstrap.sentence, found.errors))
        raise errors.RefusedError(f"{option} {path}: {said}")
    return custom


def _content(path: Path) -> str:
    """Of a file, or of the environment variable NAME in `env:NAME`."""
    kind, _, name = str(path).partition(":")
    return os.environ.get(name, "") if kind == "env" else path.read_text()


def text(settings: bootstrap.Settings, file: Path) -> str:
    """The bootstrap of these settings as the file changes it. Raises RefusedError."""
    try:
        found = custombootstrap.applied(from_file(file, "--custom"), settings)
    except custombootstrap.RefusedBootstrapError as refused:
        raise errors.RefusedError(f"--custom {file}: {refused}") from refused
    for it in found.warnings:
        click.echo(f"warning: {custombootstrap.sentence(it)}", err=True)
    return found.text


def validate(written: str, beside: Path | None) -> None:
    """Lets Envoy validate the bootstrap, if one is installed here. Raises RefusedError with Envoy's
    message, or if Envoy cannot be executed.

    It reads a file in a folder of its own, in that of `beside`: a pod can write nowhere else.
    """
    with tempfile.TemporaryDirectory(dir=beside.parent if beside else None) as folder:
        path = Path(folder, "bootstrap.json")
        path.write_text(written)
        try:
            said = validating.refusal(path)
        except errors.NotInstalledError as error:
            click.echo(f"warning: no Envoy validates it: {error}", err=True)
            return
    if said:
        raise errors.RefusedError(f"Envoy refuses it: {said}")
