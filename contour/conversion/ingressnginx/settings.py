"""What the ConfigMap of ingress-nginx says of all Ingresses.

Only guards are looked for, in every ConfigMap among the manifests: which one the controller reads
is an option of its Deployment.
"""

from collections.abc import Iterator

from contour.conversion.ingressnginx.given import Given
from contour.conversion.told import Told
from dag.foreign import nginx


def guards(given: Given) -> Iterator[Told]:
    """The guards that hold for an Ingress as for all others; none of them is converted."""
    for key, config_map in sorted(given.others.config_maps.items()):
        for name, value in sorted(config_map.data.items()):
            known = nginx.SETTINGS.get(name)
            if known is None or name in given.without or known.effect_of(value) != "guard":
                continue
            see = f"; see {known.instead}" if known.instead else ""
            text = f"guards all Ingresses and is not converted, so none of them is{see}"
            yield Told(f"ConfigMap {key}", f"data.{name}", text, is_left_out=True)
