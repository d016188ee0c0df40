"""What browsers may do with the pages: load nothing from another origin, and cache nothing.

No script, style or frame of another origin is allowed (Content Security Policy Level 3). Which
requests may see the pages is the same for all of the debug port (`contour.pages.rebinding`).
"""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""The headers of every response."""
