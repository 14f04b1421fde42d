"""Rules of goss that ask for too much, and the benchmark of malformed ones, with fewer of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from health_worlds import look

from reactor import ResourceError

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "malformed_goss.py"


def test_5000_malformed_rules_are_no_traceback_and_cost_little_time_and_memory(tmp_path):
    command = [sys.executable, BENCHMARK, "5000", "--dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "malformed rules of goss: 5,000" in done.stdout


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"matching: {{a: {{content: 1, matches: *a39}}}}\n{LAUGHS}", "undefined alias"),
        (f"{LAUGHS}matching: {{a: {{content: 1, matches: *a39}}}}", "aliases stand for more than"),
        ("matching: &a {b: *a}", "within itself"),
        (f"matching: {'[' * 100}{']' * 100}", "nested deeper than 64"),
        (f"file: {{/x: {{size: 0x{'f' * 5000}}}}}", "at most 1024 bits"),
        (f"file: {{/x: {{size: {'9' * 5000}}}}}", "can't be read"),
        ("file: {/x: {size: 2001-99-99}}", "can't be read"),
        ("file: {/x: {size: !!timestamp x}}", "can't be read"),
        ("file: {/x: {size: !!int ''}}", "can't be read"),
        ("file: {/x: {exists: !!bool x}}", "can't be read"),
        ("x" * (5 << 20), "larger than 4 MiB"),
    ],
)
async def test_a_gossfile_that_asks_for_too_much_is_refused_in_words(tmp_path, text, said):
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(ResourceError, match=said):
        await look({"gossfile": {str(path): {}}})
