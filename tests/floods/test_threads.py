"""Threads that hang keep no other work waiting."""

import threading

import trio
import trio.testing

from reactor import in_thread


async def test_however_much_hangs_other_work_finds_a_thread():
    """As name servers, mounts and account databases hang: what asks them may be abandoned."""
    over, others = threading.Event(), threading.active_count()
    try:
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(lambda: in_thread(over.wait, abandon_on_cancel=True))
            await trio.testing.wait_all_tasks_blocked(0.01)
            with trio.fail_after(60):
                assert await in_thread(threading.active_count) < others + 30
            nursery.cancel_scope.cancel()
    finally:
        over.set()
