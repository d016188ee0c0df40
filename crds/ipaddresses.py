"""Whether a text is an IP address; without pydantic, for programs that decode no object."""

import ipaddress


def is_ip_address(text: str) -> bool:
    """Whether a text is an IP address, of either version."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
