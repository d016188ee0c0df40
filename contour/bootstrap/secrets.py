"""The certificates for talking to the control plane, by SDS from files.

A certificate named directly in the bootstrap is read once; one that comes by SDS, even from a file,
is read again when its directory changes. So each gets a small SDS file that names the real files:
rotation without a restart. The certificates are written and rotated elsewhere.
"""

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from envoy.config.core.v3 import base_pb2, config_source_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2
from envoy.service.discovery.v3 import discovery_pb2
from envoy.type.matcher.v3 import string_pb2
from google.protobuf import json_format, message

from contour.bootstrap import packing, settings

_CERTIFICATE = "xds-certificate"
_AUTHORITY = "xds-authority"


def transport_socket(credentials: settings.Credentials) -> base_pb2.TransportSocket:
    """Mutual TLS 1.3 with the control plane."""
    tls = tls_pb2.UpstreamTlsContext(
        sni=credentials.server_name,
        common_tls_context=tls_pb2.CommonTlsContext(
            tls_params=common_pb2.TlsParameters(
                tls_minimum_protocol_version=common_pb2.TlsParameters.TLSv1_3,
                tls_maximum_protocol_version=common_pb2.TlsParameters.TLSv1_3,
            ),
            tls_certificate_sds_secret_configs=[_secret(credentials, _CERTIFICATE)],
            validation_context_sds_secret_config=_secret(credentials, _AUTHORITY),
        ),
    )
    return base_pb2.TransportSocket(
        name="envoy.transport_sockets.tls", typed_config=packing.packed(tls)
    )


def _secret(credentials: settings.Credentials, name: str) -> secret_pb2.SdsSecretConfig:
    return secret_pb2.SdsSecretConfig(
        name=name,
        sds_config=config_source_pb2.ConfigSource(
            path_config_source=config_source_pb2.PathConfigSource(
                path=str(credentials.secrets / f"{name}.json")
            ),
            resource_api_version=config_source_pb2.ApiVersion.V3,
        ),
    )


def secret_documents(credentials: settings.Credentials) -> Mapping[str, str]:
    """The SDS files, by name; they belong in the directory `credentials.secrets`."""
    found = (_certificate(credentials), _authority(credentials))
    return {f"{secret.name}.json": _text(secret) for secret in found}


def _certificate(credentials: settings.Credentials) -> secret_pb2.Secret:
    return secret_pb2.Secret(
        name=_CERTIFICATE,
        tls_certificate=common_pb2.TlsCertificate(
            certificate_chain=_file(credentials.certificate),
            private_key=_file(credentials.key),
            watched_directory=_watched(credentials.certificate),
        ),
    )


def _authority(credentials: settings.Credentials) -> secret_pb2.Secret:
    return secret_pb2.Secret(
        name=_AUTHORITY,
        validation_context=common_pb2.CertificateValidationContext(
            trusted_ca=_file(credentials.authority),
            watched_directory=_watched(credentials.authority),
            match_typed_subject_alt_names=[
                common_pb2.SubjectAltNameMatcher(
                    san_type=common_pb2.SubjectAltNameMatcher.DNS,
                    matcher=string_pb2.StringMatcher(exact=credentials.server_name),
                )
            ],
        ),
    )


def _file(path: PurePath) -> base_pb2.DataSource:
    return base_pb2.DataSource(filename=str(path))


def _watched(path: PurePath) -> base_pb2.WatchedDirectory:
    return base_pb2.WatchedDirectory(path=str(path.parent))


def _text(secret: message.Message) -> str:
    response = discovery_pb2.DiscoveryResponse(resources=[packing.packed(secret)])
    found: dict[str, Any] = json_format.MessageToDict(response, preserving_proto_field_name=True)
    return json.dumps(found, indent=2) + "\n"
