"""The heap of a continuous run."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes_of_cli import finish, spawned, wait_until

KERNEL = tuple(int(number) for number in os.uname().release.split(".")[:2])
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")

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
lines = open("/proc/self/maps").read().splitlines()
arenas = [
    line for line, following in zip(lines, lines[1:])
    if "rw-p" in line and "---p" in following and not int(line.partition("-")[0], 16) % (64 << 20)
]
print(len(arenas))
"""


@pytest.mark.parametrize(("call", "has_arenas"), [("share_heap()", False), ("", True)])
def test_threads_have_arenas_only_where_the_heap_is_not_shared(call, has_arenas):
    """An arena of glibc begins at a multiple of 64 MiB, as another mapping may by chance, and has an unused rest behind it."""
    words = [sys.executable, "-c", COUNT.format(call=call)]
    counted = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert (int(counted) > 0) is has_arenas


def in_huge_pages(pid):
    """How much of the memory of a process is in huge pages, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))


@pytest.mark.skipif(
    not SETTING.exists() or "[never]" in SETTING.read_text() or KERNEL < (6, 1),
    reason="this kernel has no huge pages on request, or has them switched off",
)
def test_a_run_that_has_converged_moves_its_heap_into_huge_pages(tmp_path):
    (tmp_path / "site.yaml").write_text("resources: []\n")
    with spawned("run", "--format", "json", tmp_path / "site.yaml", cwd=tmp_path) as process:
        while json.loads(process.stdout.readline())["event"] != "converged":
            pass
        wait_until(lambda: in_huge_pages(process.pid) >= 4096)
        process.send_signal(signal.SIGTERM)
        finish(process)


COLLAPSED = """
import trio
from pathlib import Path
from reactor.cli.running.heap import use_huge_pages

def resident():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))

kept = [{number: str(number)} for number in range(100_000)]
before = resident()
trio.run(use_huge_pages)
print(before, resident())
"""


def test_huge_pages_take_hardly_more_memory():
    words = [sys.executable, "-c", COLLAPSED]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    before, after = map(int, printed.split())
    assert after < 1.1 * before


FREED = """
import trio
from pathlib import Path
from reactor.cli.running.heap import use_huge_pages

def resident():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))

kept = [bytes(2000) for _ in range(20_000)]
del kept[:-1]
before = resident()
trio.run(use_huge_pages)
print(before, resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this libc keeps what is freed")
def test_what_was_freed_is_returned_although_the_end_of_the_heap_is_in_use():
    words = [sys.executable, "-c", FREED]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    before, after = map(int, printed.split())
    assert after < before - 20_000
