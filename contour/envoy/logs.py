"""Access logs of requests and connections, and traces.

Access logs go to standard output and standard error by loggers of their own, because Envoy may not
be able to open `/dev/stdout` and `/dev/stderr`, for example in a container.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from envoy.config.accesslog.v3 import accesslog_pb2
from envoy.config.core.v3 import extension_pb2
from envoy.config.core.v3 import substitution_format_string_pb2 as format_pb
from envoy.config.trace.v3 import opentelemetry_pb2
from envoy.extensions.access_loggers.file.v3 import file_pb2
from envoy.extensions.access_loggers.stream.v3 import stream_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as pb,
)
from envoy.extensions.formatter.req_without_query.v3 import req_without_query_pb2
from envoy.extensions.tracers.opentelemetry.samplers.v3 import (
    parent_based_sampler_pb2 as parent_pb2,
)
from envoy.extensions.tracers.opentelemetry.samplers.v3 import (
    trace_id_ratio_based_sampler_pb2 as ratio_pb2,
)
from envoy.type.tracing.v3 import custom_tag_pb2
from envoy.type.v3 import percent_pb2

from contour.envoy import encoding, headers
from dag import nodes

_Stream: TypeAlias = stream_pb2.StdoutAccessLog | stream_pb2.StderrAccessLog
_Logger: TypeAlias = _Stream | file_pb2.FileAccessLog
_STREAMS: Mapping[str, tuple[str, type[_Stream]]] = {
    "/dev/stdout": ("envoy.access_loggers.stdout", stream_pb2.StdoutAccessLog),
    "/dev/stderr": ("envoy.access_loggers.stderr", stream_pb2.StderrAccessLog),
}
_LEAST = {"error": 300, "critical": 500}
_POD = {"podName": "HOSTNAME", "podNamespace": "CONTOUR_NAMESPACE"}
"""Tags, and the variables of Envoy's environment that hold their values."""


def access_logs(node: nodes.AccessLog) -> Iterator[accesslog_pb2.AccessLog]:
    """The log of a connection manager or proxy, unless it is disabled."""
    if node.level == "disabled":
        return
    result = accesslog_pb2.AccessLog()
    written: _Logger
    if node.path in _STREAMS:
        result.name, logger = _STREAMS[node.path]
        written = logger()
    else:
        result.name, written = "envoy.access_loggers.file", file_pb2.FileAccessLog(path=node.path)
    _write_format(written, node)
    result.typed_config.CopyFrom(encoding.packed(written))
    if node.level in _LEAST:
        comparison = result.filter.status_code_filter.comparison
        comparison.op = accesslog_pb2.ComparisonFilter.GE
        comparison.value.default_value = _LEAST[node.level]
        comparison.value.runtime_key = "contour.access_log.least_status"
    yield result


def _write_format(target: _Logger, node: nodes.AccessLog) -> None:
    if node.json:
        target.log_format.CopyFrom(_json(node))
    elif node.format is not None:
        text = headers.formatted(node.format)
        target.log_format.text_format_source.inline_string = text
    if "REQ_WITHOUT_QUERY" in node.operators():  # the only operator that is an extension of Envoy
        formatter = target.log_format.formatters.add(name="envoy.formatter.req_without_query")
        formatter.typed_config.CopyFrom(encoding.packed(req_without_query_pb2.ReqWithoutQuery()))


def _json(node: nodes.AccessLog) -> format_pb.SubstitutionFormatString:
    result = format_pb.SubstitutionFormatString(omit_empty_values=True)
    for name, value in node.json:
        result.json_format[name] = headers.formatted(value)
    return result


def tracing(node: nodes.Tracing, cluster: str) -> pb.HttpConnectionManager.Tracing:
    """Which requests are traced, and where the traces are sent."""
    result = pb.HttpConnectionManager.Tracing()
    result.overall_sampling.value = node.overall
    result.client_sampling.value = node.client
    result.random_sampling.value = node.random
    result.max_path_tag_length.value = node.max_path_length
    result.custom_tags.extend(_tags(node))
    result.operation = node.span_name
    collector = opentelemetry_pb2.OpenTelemetryConfig(service_name=node.service_name)
    collector.grpc_service.CopyFrom(encoding.grpc(cluster))
    for name, value in node.headers:
        collector.grpc_service.initial_metadata.add(key=name, value=value)
    if node.sampling is not None:
        collector.sampler.CopyFrom(_sampler(node.sampling))
    if node.timeout:
        collector.grpc_service.timeout.CopyFrom(encoding.seconds(node.timeout))
    result.provider.name = "envoy.tracers.opentelemetry"
    result.provider.typed_config.CopyFrom(encoding.packed(collector))
    return result


_MILLION = 1_000_000


def _sampler(node: nodes.Sampling) -> extension_pb2.TypedExtensionConfig:
    """A sampler for a share of the traces, which respects a parent's decision if it is told to."""
    numerator, denominator = node.rate
    share = ratio_pb2.TraceIdRatioBasedSamplerConfig()
    share.sampling_percentage.numerator = numerator * _MILLION // denominator
    share.sampling_percentage.denominator = percent_pb2.FractionalPercent.MILLION
    result = extension_pb2.TypedExtensionConfig(name=f"{_SAMPLERS}.trace_id_ratio_based")
    result.typed_config.CopyFrom(encoding.packed(share))
    if not node.follows_parent:
        return result
    parents = parent_pb2.ParentBasedSamplerConfig(wrapped_sampler=result)
    content = encoding.packed(parents)
    return extension_pb2.TypedExtensionConfig(
        name=f"{_SAMPLERS}.parent_based", typed_config=content
    )


_SAMPLERS = "envoy.tracers.opentelemetry.samplers"


def _tags(node: nodes.Tracing) -> Iterator[custom_tag_pb2.CustomTag]:
    for tag in node.tags:
        result = custom_tag_pb2.CustomTag(tag=tag.name)
        if tag.header:
            result.request_header.name = tag.header
        elif tag.request_property:
            result.value = headers.formatted(nodes.REQUEST_PROPERTIES[tag.request_property])
        else:
            result.literal.value = tag.literal
        yield result
    for name, variable in _POD.items() if node.pod_details else ():
        result = custom_tag_pb2.CustomTag(tag=name)
        result.environment.name = variable
        yield result
