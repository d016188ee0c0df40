"""What is so wherever the user's routes are served, whoever made the Envoys."""

from functools import partial

from tests.workflows.site import Site, Told

CART, PAY, BLOG = (Told(200, it) for it in ("cart", "pay", "blog"))
NOBODY = Told(404)


def serves_routes(site: Site, address: str, *, gateway: bool) -> None:
    """HTTPProxy and Ingress answer; a Gateway's route has a path of the HTTPProxy's host."""
    site.until_told(address, "shop.example.com", told=CART)
    site.until_told(address, "blog.example.com", told=BLOG)
    site.until_told(address, "shop.example.com", "/pay", told=PAY if gateway else CART)
    assert site.ask(address, "nobody.example.com") == NOBODY


def tells_addresses(site: Site, address: str, namespace: str = "default") -> None:
    """HTTPProxy and Ingress are valid and say where they are served."""
    site.until_condition("httpproxy", namespace, "shop", "Valid")
    balanced = {"ingress": [{"ip": address}]}
    for kind, name in (("httpproxy", "shop"), ("ingress", "blog")):
        look = partial(site.get, kind, namespace, name)
        site.until(look, lambda it: it["status"].get("loadBalancer") == balanced)


def tells_of_gateway(site: Site, address: str, namespace: str = "default") -> None:
    """Class, Gateway and route are accepted and programmed, at this address."""
    site.until_condition("gatewayclass", "", "contour", "Accepted")
    site.until_condition("gateway", namespace, "web", "Programmed")
    for it in ("Accepted", "ResolvedRefs"):
        site.until_condition("httproute", namespace, "pay", it)
    status = site.get("gateway", namespace, "web")["status"]
    assert status["addresses"] == [{"type": "IPAddress", "value": address}]
    assert [it["attachedRoutes"] for it in status["listeners"]] == [1]
