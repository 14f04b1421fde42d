"""The heap of a run that lasts."""

import subprocess
import sys

import pytest

COUNT = """
import threading
from reactor.cli.running.heap import share_heap
{call}
at_once = threading.Barrier(4)

def allocate():
    at_once.wait()
    kept = [bytes(20_000) for _ in range(50)]
    at_once.wait()
    del kept

threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
arenas = [line for line in open("/proc/self/maps") if "rw-p" in line and not int(line.partition("-")[0], 16) % (64 << 20)]
print(len(arenas))
"""


@pytest.mark.parametrize(("call", "has_arenas"), [("share_heap()", False), ("", True)])
def test_threads_have_arenas_only_where_the_heap_is_not_shared(call, has_arenas):
    """An arena of glibc begins at a multiple of 64 MiB."""
    words = [sys.executable, "-c", COUNT.format(call=call)]
    counted = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert (int(counted) > 0) is has_arenas
