"""Which entries of Secrets and ConfigMaps rules may read: the others are neither kept nor compared.

Other programs keep their own data in Secrets and ConfigMaps, and may write them often. Most entries
that we read have a fixed name. Only the key sets of an HTTPProxy have names of the user's choice,
so an entry of a Secret that may be JSON is kept. Other values are requested by name (`values`). Of
all other entries only the name is kept, so that a status can tell "is not JSON" from "does not
exist".
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
    """The kept content of a Secret, in base64 as received, including the values of wanted keys."""
    kept = SECRETS | wanted
    return {key: value if key in kept or _may_be_json(value) else "" for key, value in data.items()}


def of_config_map(data: Raw, _: frozenset[str] = NONE) -> Raw:
    """The kept content of a ConfigMap."""
    return {key: value for key, value in data.items() if key in OF_CONFIG_MAPS}


def _may_be_json(value: object) -> bool:
    """Whether a value begins like an object or a list; invalid base64 is kept, so that it can be
    reported."""
    if not isinstance(value, str):
        return True
    try:
        beginning = b64decode(value[:64], validate=True).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (binascii.Error, ValueError):
        return True
    return not beginning or beginning[:1] in {b"{", b"["}
