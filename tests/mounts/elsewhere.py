"""A file that is not on the disk under test."""

import trio


async def a_change_elsewhere(story, path):
    """Undo a change of the file at ``path``, in less than a second."""
    before = len(story.checks(f"file#{path}"))
    path.write_text("drifted")
    with trio.fail_after(1.0):
        await story.until(lambda: len(story.checks(f"file#{path}")) > before)
    assert path.read_text() == "x"
