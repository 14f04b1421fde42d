import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["reactor.manifest", "reactor.manifest.report"])
def test_reading_manifests_needs_none_of_the_heavy_libraries(module):
    heavy = ["trio", "networkx", "rich", "click", "watchdog", "jsonschema"]
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
