"""Where the pages are, for each configuration."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from contour.pages import settings
from contour.pages.settings import Files, ListenAddress
from crds.contourconfiguration import ContourConfiguration, ContourConfigurationSpec
from crds.decode import Decoded, decode

ALL = "health", "metrics"
CLEAR = ListenAddress("0.0.0.0", 8000)
DEBUG = {ListenAddress("127.0.0.1", 6060): {"debug"}}
TLS = "{certFile: /c, keyFile: /k}"


def sites(spec: str) -> settings.Sites:
    return settings.sites(specification(spec))


def specification(spec: str) -> ContourConfigurationSpec:
    found = decode(
        {
            "apiVersion": "projectcontour.io/v1alpha1",
            "kind": "ContourConfiguration",
            "metadata": {"name": "contour", "namespace": "projectcontour"},
            "spec": yaml.load(spec, yaml.CSafeLoader),
        }
    )
    assert isinstance(found, Decoded)
    assert isinstance(found.object, ContourConfiguration)
    return found.object.spec


@pytest.mark.parametrize(
    ("spec", "purposes"),
    [
        ("{}", {CLEAR: {*ALL}, **DEBUG}),
        (
            "{health: {port: 9000}}",
            {ListenAddress("0.0.0.0", 9000): {"health"}, CLEAR: {"metrics"}},
        ),
        (
            "{metrics: {port: 9000}}",
            {ListenAddress("0.0.0.0", 9000): {"metrics"}, CLEAR: {"health"}},
        ),
        (
            "{health: {address: '::'}, metrics: {address: '::'}}",
            {ListenAddress("::", 8000): {*ALL}},
        ),
        ("{debug: {address: 0.0.0.0}}", {ListenAddress("0.0.0.0", 6060): {"debug"}, CLEAR: {*ALL}}),
        ("{debug: {port: 7000}}", {ListenAddress("127.0.0.1", 7000): {"debug"}, CLEAR: {*ALL}}),
        ("{debug: {address: 0.0.0.0, port: 8000}}", {CLEAR: {*ALL, "debug"}}),
        (
            f"{{metrics: {{port: 8443, tls: {TLS}}}}}",
            {
                CLEAR: {"health"},
                ListenAddress("0.0.0.0", 8443, Files(Path("/c"), Path("/k"))): {"metrics"},
            },
        ),
        (
            "{metrics: {port: 1, tls: {certFile: /c, keyFile: /k, caFile: /a}}}",
            {
                CLEAR: {"health"},
                ListenAddress("0.0.0.0", 1, Files(Path("/c"), Path("/k"), Path("/a"))): {"metrics"},
            },
        ),
    ],
)
def test_sockets_and_what_they_are_for(spec: str, purposes: dict[ListenAddress, Any]) -> None:
    found = sites(spec)
    assert not found.problems
    if not any("debug" in it for it in purposes.values()):
        purposes = {**purposes, **DEBUG}
    assert found.purposes == purposes


@pytest.mark.parametrize(
    ("spec", "problem", "lost"),
    [
        (
            f"{{metrics: {{tls: {TLS}}}}}",
            "spec.metrics: port 8000 is already used by health",
            "metrics",
        ),
        (
            "{health: {address: 10.0.0.1}}",
            "spec.metrics: port 8000 is already used by health",
            "metrics",
        ),
        (
            "{debug: {port: 8000}}",
            "spec.debug: port 8000 is already used by health and metrics",
            "debug",
        ),
        *(
            (
                f"{{metrics: {{port: 9, tls: {it}}}}}",
                "spec.metrics.tls: certFile and keyFile are required for TLS",
                "metrics",
            )
            for it in ("{certFile: /c}", "{}")
        ),
    ],
)
def test_what_cannot_be_is_told_by_its_field_and_never_served_otherwise(
    spec: str, problem: str, lost: str
) -> None:
    found = sites(spec)
    assert found.problems == (problem,)
    assert lost not in {it for purposes in found.purposes.values() for it in purposes}
    assert "health" in {it for purposes in found.purposes.values() for it in purposes}


def test_flags_hold_where_the_configuration_says_nothing() -> None:
    flag = ListenAddress("127.0.0.1", 1)
    usual = {**settings.USUAL, "health": flag}
    assert settings.sites(specification("{}"), usual).purposes[flag] == {"health"}
    other = settings.sites(specification("{health: {port: 2}}"), usual)
    assert other.purposes[ListenAddress("127.0.0.1", 2)] == {"health"}


@pytest.mark.parametrize(
    ("site", "text"),
    [
        (ListenAddress("::1", 80), "http://[::1]:80"),
        (ListenAddress("a", 80, Files(Path("/c"), Path("/k"))), "https://a:80"),
    ],
)
def test_a_site_reads_as_a_url(site: ListenAddress, text: str) -> None:
    assert str(site) == text
