"""What browsers may do with the pages: load nothing of another origin, and keep nothing.

No script, style or frame of another origin is allowed (Content Security Policy Level 3). Who may
see the pages is decided for all pages of the debug port (`contour.pages.rebinding`).
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
"""Of every response."""
