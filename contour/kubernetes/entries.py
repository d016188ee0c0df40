"""Which entries of Secrets and ConfigMaps a rule may read: the others are not kept, nor compared.

Every program of a cluster keeps its own things there, and writes them as often as it likes. Most of
what we read has a fixed name. Only the key sets of an HTTPProxy have one of the user's choice, so
a text of a Secret that may be JSON stays. Whatever else is read is wanted by its name (`values`).
Of any other entry the name stays alone, since "is not JSON" and "is not there" are different
mistakes of a user.
"""

import binascii
from base64 import b64decode

from crds.ratelimitservice import PASSWORD
from crds.raw import Raw
from dag.references import jwks

SECRETS = frozenset({"tls.crt", "tls.key", "ca.crt", "crl.pem", "ca.crl", PASSWORD})
OF_CONFIG_MAPS = frozenset({"ca.crt", "ca.crl", "response.body", *jwks.ENTRIES})
NONE: frozenset[str] = frozenset()


def of_secret(data: Raw, wanted: frozenset[str] = NONE) -> Raw:
    """The content of a Secret, in base64 as it came; the values of wanted keys stay."""
    kept = SECRETS | wanted
    return {key: value if key in kept or _may_be_json(value) else "" for key, value in data.items()}


def of_config_map(data: Raw, _: frozenset[str] = NONE) -> Raw:
    """The content of a ConfigMap."""
    return {key: value for key, value in data.items() if key in OF_CONFIG_MAPS}


def _may_be_json(value: object) -> bool:
    """An object or a list, by how it begins; what is no base64 is left to be complained about."""
    if not isinstance(value, str):
        return True
    try:
        beginning = b64decode(value[:64], validate=True).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (binascii.Error, ValueError):
        return True
    return not beginning or beginning[:1] in {b"{", b"["}
