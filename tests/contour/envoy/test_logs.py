"""Access logs: which of Envoy's loggers writes them, and what their formats need."""

import pytest
from envoy.extensions.access_loggers.file.v3 import file_pb2

from contour.envoy import logs
from dag import nodes

PLAIN = nodes.Operator("REQ", ":PATH")
SHORT = nodes.Operator("REQ_WITHOUT_QUERY", ":PATH", 9)


@pytest.mark.parametrize(
    ("operator", "formatters"),
    [(PLAIN, []), (SHORT, ["envoy.formatter.req_without_query"])],
)
def test_the_extension_is_there_when_an_operator_needs_it(
    operator: nodes.Operator, formatters: list[str]
) -> None:
    written = nodes.Format((operator, "\n"))
    line = nodes.AccessLog("/log", format=written)
    for node in (line, nodes.AccessLog("/log", json=(("path", written),))):
        (found,) = logs.access_logs(node)
        file = file_pb2.FileAccessLog.FromString(found.typed_config.value)
        assert [it.name for it in file.log_format.formatters] == formatters


@pytest.mark.parametrize(
    ("path", "logger"),
    [("/dev/stdout", "stdout"), ("/dev/stderr", "stderr"), ("/var/log/access.log", "file")],
)
def test_streams_of_the_process_are_not_opened_as_files(path: str, logger: str) -> None:
    (found,) = logs.access_logs(nodes.AccessLog(path))
    assert found.name == f"envoy.access_loggers.{logger}"
