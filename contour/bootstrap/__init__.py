"""The bootstrap of an Envoy: everything that it must know before it is configured by xDS.

For `contour run`, which starts an Envoy itself, for `contour bootstrap`, which prints it for an
Envoy that somebody else starts, and for the pods of a managed fleet. Pure: settings in, a document
out. Listeners, clusters and certificates of users come over xDS.
"""

from contour.bootstrap.assembly import document, message, text
from contour.bootstrap.secrets import secret_documents
from contour.bootstrap.settings import CONNECTIONS, Credentials, Pipe, Settings, SocketAddress

__all__ = [
    "CONNECTIONS",
    "Credentials",
    "Pipe",
    "Settings",
    "SocketAddress",
    "document",
    "message",
    "secret_documents",
    "text",
]
