"""The whole program as a user runs it."""

import pytest

pytest.register_assert_rewrite("tests.e2e.cases", "tests.e2e.standalone")
