"""Other web sites see nothing: the name in `Host` decides, and nothing of elsewhere is allowed."""

from tests.contour.dashboard import serving


async def test_a_name_that_was_rebound_is_refused_on_every_page() -> None:
    async with serving.served(*serving.shop()) as it:
        for page in ("", "/objects", "/changes", "/script.js"):
            headers = {"Host": "rebound.example.com"}
            async with it.session.get(f"{it.url}{page}", headers=headers) as answer:
                assert answer.status == 421
                assert "localhost" in await answer.text()


async def test_what_another_site_makes_a_browser_send_is_refused_on_every_page() -> None:
    async with serving.served(*serving.shop()) as it:
        for page in ("", "/objects", "/changes", "/script.js"):
            headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
            async with it.session.get(f"{it.url}{page}", headers=headers) as answer:
                assert answer.status == 403


async def test_every_answer_forbids_what_comes_from_elsewhere() -> None:
    async with serving.served(*serving.shop()) as it:
        for page in ("", "/objects", "/envoys", "/explain", "/host", "/style.css", "/changes"):
            async with it.session.get(f"{it.url}{page}") as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'")
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cache-Control"] == "no-store"


async def test_it_is_read_only() -> None:
    async with serving.served() as it, it.session.post(it.url) as answer:
        assert answer.status == 405
