"""The steps of the demonstration, in order, with the expected answers."""

import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Console

from hack.demonstration.instance import Instance, blamed_objects, shown_status
from hack.demonstration.requests import Client, Request, load

_LAYERS = (
    Request("http://shop.example.com/", "200 storefront", "the Ingress says so"),
    Request("http://shop.example.com/cart", "200 cart", "an HTTPProxy overrides the Ingress"),
    Request("http://shop.example.com/checkout", "200 payments", "an HTTPRoute overrides both"),
    Request("http://other.example.com/", "404", "nobody serves this host"),
)
_TLS = (
    Request("https://account.example.com/", "200 storefront", "TLS, with the HTTPProxy's Secret"),
    Request(
        "http://account.example.com/login",
        "301 https://account.example.com/login",
        "plain HTTP is redirected",
    ),
)
_INCLUDE = (
    Request("http://news.example.com/", "200 storefront", "the owner of the host"),
    Request("http://news.example.com/blog/1", "200 blog", "included from another namespace"),
)
_BROKEN = Request("http://news.example.com/blog/1", "503", "its Service is gone")
_SPLIT = 200


class Story:
    """Shows the steps on a console and counts unexpected answers."""

    def __init__(self, instance: Instance, client: Client, console: Console) -> None:
        self._instance = instance
        self._client = client
        self._console = console
        self.wrong = 0

    async def tell(self) -> None:
        """Shows all steps."""
        await self._show(
            "Three APIs for one host: the Gateway API beats HTTPProxy beats Ingress", _LAYERS
        )
        await self._show("TLS, with a certificate made a moment ago", _TLS)
        await self._show("A path delegated to another team", _INCLUDE)
        await self._show_split()
        await self._show_edit()
        await self._show_mistake()

    async def _show(self, title: str, requests: Iterable[Request]) -> None:
        self._headline(title)
        for request in requests:
            told = await self._client.answer(request.url)
            self._say(told == request.expected, f"{request.url}  [dim]{request.because}[/]")
            self._console.print(f"    expected {request.expected}, answered {told}")

    async def _show_split(self) -> None:
        url = "http://canary.example.com/"
        answers = Counter([await self._client.answer(url) for _ in range(_SPLIT)])
        share = answers["200 storefront-next"] / _SPLIT
        # Five standard deviations of a fair draw: once in a million runs this is wrong by chance.
        both = answers["200 storefront"] + answers["200 storefront-next"]
        is_fair = abs(share - 0.25) < 0.16 and both == _SPLIT
        self._headline("A weighted split")
        self._say(is_fair, f"{url}, {_SPLIT} times")
        self._console.print(
            "    expected 25% from storefront-next and the rest from storefront, answered "
            f"{share:.0%} and {answers['200 storefront'] / _SPLIT:.0%}"
        )

    async def _show_edit(self) -> None:
        self._headline("A change while requests flow: /cart moves from cart to storefront-next")
        async with load(self._client, "http://shop.example.com/cart") as requests:
            await requests.until("200 cart")
            await requests.more(300)
            saved = time.perf_counter()
            self._instance.copy.replace(
                "20-httpproxy.yaml",
                "- conditions: [{prefix: /cart}]\n    services: [{name: cart,",
                "- conditions: [{prefix: /cart}]\n    services: [{name: storefront-next,",
            )
            is_live = await requests.until("200 storefront-next")
            took = time.perf_counter() - saved
            await requests.more(300)
        self._say(is_live, f"the first answer with the change came {took * 1000:.0f} ms later")
        self._say(not requests.lost, f"{requests.sent} requests sent, {requests.lost} lost")
        self._console.print(f"    {_counted(requests.answers)}")
        after = Request("http://shop.example.com/cart", "200 storefront-next", "the file says so")
        await self._show("From now on", [after])

    async def _show_mistake(self) -> None:
        self._instance.copy.replace(
            "50-include.yaml", "{name: blog, port: 80}", "{name: blgo, port: 80}"
        )
        async with load(self._client, _BROKEN.url) as requests:
            await requests.until(_BROKEN.expected)
        others = (_INCLUDE[0], _LAYERS[0], _TLS[0])
        await self._show("A mistake in 50-include.yaml: the others go on", (_BROKEN, *others))
        self._headline("Its status")
        self._console.print(await shown_status(self._instance), markup=False)
        blamed = await blamed_objects(self._instance)
        self._say(blamed == ["HTTPProxy writers/blog"], "only HTTPProxy writers/blog is blamed")

    def _say(self, is_right: bool, text: str) -> None:
        self.wrong += not is_right
        self._console.print(f"  {'[green]✓[/]' if is_right else '[bold red]✗[/]'} {text}")

    def _headline(self, text: str) -> None:
        self._console.print(f"\n[bold]{text}[/]")


def _counted(answers: Counter[str]) -> str:
    return ", ".join(f"{count} times {told}" for told, count in answers.items())
