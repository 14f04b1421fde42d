"""What `readFile` of an expression reads on the event loop, and what has to wait for a thread."""

from __future__ import annotations

import pytest

from reactor.language.errors import BriefLimitError
from reactor.manifest.expression_functions import ExpressionFunctions


def test_a_long_file_is_not_read_where_repairs_would_wait_for_it(tmp_path):
    functions = ExpressionFunctions(str(tmp_path), {}, frozenset(), strict=True)
    (tmp_path / "short").write_text("short")
    (tmp_path / "long").write_text("x" * (256 * 1024 + 1))
    with functions.reading(briefly=True):
        assert functions.read_file("short") == "short"
        with pytest.raises(BriefLimitError):
            functions.read_file("long")
    with functions.reading():
        assert len(functions.read_file("long")) == 256 * 1024 + 1
