"""The arguments of the containers, where code is clearer than the templates.

Flags with default values are left out. The templates have the mounts.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

from crds import draining, workloads
from crds.ratelimitservice import PASSWORD
from crds.raw import Raw
from provisioning.identities import CONTROL_PLANE
from provisioning.installation import ControlPlane, Counter, Fleet, Operator
from provisioning.names import ENVOY_IMAGE, IMAGE

HEAP = 900 << 20
"""Bytes of heap at which Envoy begins to refuse work, below the memory limit that would kill it."""


LONGEST_LIMITS = 256 << 20
"""Bytes of all limits together that a rate limit service takes."""

BOOTSTRAP = "CONTOUR_BOOTSTRAP"
"""The environment variable with a custom bootstrap."""


MOUNTED_FILE = PurePosixPath("/config/config.yaml")
"""The path of the control plane's configuration file, if it has one."""


def serve(given: ControlPlane) -> list[str]:
    """The arguments of the control plane."""
    place, contour = given.place, given.contour
    found = [
        *("serve", "--incluster", "--xds-address=0.0.0.0", "--xds-port=8001"),
        *("--contour-cafile=/certs/ca.crt", "--contour-cert-file=/certs/tls.crt"),
        "--contour-key-file=/certs/tls.key",
        (
            f"--config-path={MOUNTED_FILE}"
            if given.file
            else f"--contour-config-name={given.configuration}"
        ),
        "--state-dir=/state",
    ]
    if place.suffix:
        found.append(f"--leader-election-resource-name={place.named('leader-elect')}")
        found.append(f"--envoy-service-name={place.named('envoy')}")
        found.append(f"--name-suffix={place.suffix}")
    if place.image != IMAGE:
        found.append(f"--contour-image={place.image}")
    if given.envoy_image != ENVOY_IMAGE:
        found.append(f"--envoy-image={given.envoy_image}")
    if contour.watch_namespaces:
        found.append(f"--watch-namespaces={','.join(contour.watch_namespaces)}")
    return [*found, "--log-format=json", f"--log-level={contour.log_level}"]


def operator(given: Operator) -> list[str]:
    """The arguments of the operator, which runs control planes with the image of its own pod."""
    found = ["run", "--incluster", "--log-format=json"]
    if given.envoy_image != ENVOY_IMAGE:
        found.append(f"--envoy-image={given.envoy_image}")
    if given.trusted is not None:
        found.append(f"--trusted-namespaces={','.join(given.trusted)}")
    return found


def bootstrap(given: Fleet) -> list[str]:
    """The arguments of the container that writes the bootstrap of Envoy."""
    workload = given.workload
    control_plane = given.control_plane or given.place.named("contour")
    heap = workload.overload_max_heap_size or (0 if workload.resources else HEAP)
    limits = {
        "--overload-max-heap": heap,
        "--overload-downstream-max-conn": workload.overload_max_downstream_connections,
    }
    return [
        *("bootstrap", "/config/envoy.json", "--admin-address=/admin/admin.sock"),
        *(f"--xds-address={control_plane}", "--xds-port=8001"),
        *("--envoy-cafile=/certs/ca.crt", "--envoy-cert-file=/certs/tls.crt"),
        *("--envoy-key-file=/certs/tls.key", "--resources-dir=/config/resources"),
        *("--node=$(POD_NAME)", f"--fleet={given.name}", "--stats-port=8002"),
        *(["--no-stats"] if given.hides_stats else ()),
        *(f"{option}={value}" for option, value in limits.items() if value),
        *([f"--custom=env:{BOOTSTRAP}"] if given.bootstrap else ()),
    ]


def envoy(workload: workloads.Workload, log_levels: Mapping[str, str]) -> list[str]:
    """The arguments of Envoy; `levels` are log levels of single components."""
    components = ",".join(f"{name}:{level}" for name, level in sorted(log_levels.items()))
    return [
        *("--config-path", "/config/envoy.json"),
        # Hot restart wants shared memory, and a pod is never restarted in place.
        *("--disable-hot-restart", "--drain-strategy", "immediate"),
        *("--drain-time-s", str(draining.drain_time(workload.drain_time_seconds))),
        *("--log-level", workload.log_level),
        *(("--component-log-level", components) if components else ()),
        *(("--base-id", str(workload.base_id)) if workload.base_id else ()),
    ]


def rate_limit_service(given: Counter) -> list[Raw]:
    """The environment of the rate limit service, which is all of its settings.

    Its health page and its debug page, which could also count and reset, are served only within the
    pod.
    """
    place, redis = given.place, given.redis
    assert redis is not None
    control_plane = place.named("contour")
    settings = {
        "HOST": "127.0.0.1",
        "DEBUG_HOST": "127.0.0.1",
        "USE_STATSD": "false",
        "DISABLE_STATS": "true",
        "LOG_LEVEL": "info",
        "LOG_FORMAT": "json",
        "GRPC_PORT": "8081",
        "GRPC_SERVER_USE_TLS": "true",
        "GRPC_SERVER_TLS_CERT": "/certs/tls.crt",
        "GRPC_SERVER_TLS_KEY": "/certs/tls.key",
        "GRPC_CLIENT_TLS_CACERT": "/certs/ca.crt",
        "GRPC_CLIENT_TLS_SAN": given.client,
        "CONFIG_TYPE": "GRPC_XDS_SOTW",
        "CONFIG_GRPC_XDS_NODE_ID": given.called,
        "CONFIG_GRPC_XDS_SERVER_URL": f"{control_plane}:8001",
        "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true",
        "CONFIG_GRPC_XDS_SERVER_TLS_SAN": CONTROL_PLANE,
        "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": "/certs/ca.crt",
        "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": "/certs/tls.crt",
        "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": "/certs/tls.key",
        "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL": "1s",
        "XDS_CLIENT_BACKOFF_MAX_INTERVAL": "10s",
        "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES": str(LONGEST_LIMITS),
        "REDIS_SOCKET_TYPE": "tcp",
        "REDIS_URL": redis.address,
        "REDIS_TIMEOUT": "800ms",
        "REDIS_POOL_SIZE": "32",
        **({"REDIS_TLS": "true"} if redis.tls is not None else {}),
    }
    if redis.tls is not None and redis.tls.ca_secret is not None:
        settings["REDIS_TLS_CACERT"] = "/redis/ca.crt"
    found: list[Raw] = [{"name": key, "value": it} for key, it in settings.items()]
    if (password := redis.password_secret) is not None:
        source = {"secretKeyRef": {"name": password, "key": PASSWORD}}
        found.append({"name": "REDIS_AUTH", "valueFrom": source})
    return found
