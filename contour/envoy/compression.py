"""Compresses responses for clients that accept it."""

from envoy.extensions.compression.brotli.compressor.v3 import brotli_pb2
from envoy.extensions.compression.gzip.compressor.v3 import gzip_pb2
from envoy.extensions.compression.zstd.compressor.v3 import zstd_pb2
from envoy.extensions.filters.http.compressor.v3 import compressor_pb2 as pb

from contour.envoy import encoding

NAME = "envoy.filters.http.compressor"

SHORTEST = 30
"""Bytes: Envoy compresses no shorter body."""

_LIBRARIES = {
    "gzip": gzip_pb2.Gzip,
    "brotli": brotli_pb2.Brotli,
    "zstd": zstd_pb2.Zstd,
}


def installed(algorithm: str) -> pb.Compressor:
    """The filter, with an algorithm it knows."""
    result = pb.Compressor()
    result.compressor_library.name = algorithm
    library = _LIBRARIES[algorithm]()
    result.compressor_library.typed_config.CopyFrom(encoding.packed(library))
    return result
