"""The whole bootstrap: settings in, an Envoy v3 Bootstrap out, as the JSON mapping of protobuf.

Field names are those of the proto files, as in Envoy's documentation. Equal settings give equal
text, so a changed text means a changed bootstrap.
"""

import json
from typing import Any

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.core.v3 import base_pb2
from google.protobuf import json_format

from contour.bootstrap import control_plane, limits, monitoring, packing, settings


def text(given: settings.Settings) -> str:
    """The bootstrap as the text of a JSON file (JSON is also YAML)."""
    return json.dumps(document(given), indent=2) + "\n"


def document(given: settings.Settings) -> dict[str, Any]:
    """The bootstrap as plain data."""
    found: dict[str, Any] = json_format.MessageToDict(
        message(given), preserving_proto_field_name=True
    )
    return found


def message(given: settings.Settings) -> bootstrap_pb2.Bootstrap:
    """The bootstrap as Envoy reads it."""
    return bootstrap_pb2.Bootstrap(
        node=base_pb2.Node(id=given.node, cluster=given.fleet),
        admin=bootstrap_pb2.Admin(address=packing.pipe(given.admin, mode=0o600)),
        dynamic_resources=control_plane.dynamic_resources(given),
        static_resources=_static_resources(given),
        overload_manager=limits.overload(given),
        config_sources=control_plane.config_sources(given),
        layered_runtime=limits.runtime(given),
        stats_config=limits.statistics(),
        deferred_stat_options=limits.deferred_statistics(),
    )


def _static_resources(given: settings.Settings) -> bootstrap_pb2.Bootstrap.StaticResources:
    result = bootstrap_pb2.Bootstrap.StaticResources(
        clusters=[*control_plane.clusters(given), monitoring.cluster(given)]
    )
    if given.monitoring is not None:
        result.listeners.append(monitoring.listener(given.monitoring, given.hides_stats))
    return result
