"""A file that is not on the disk under test."""

from turns import turns


async def a_change_elsewhere(story, path):
    """Have a change of the file at ``path`` undone, in one of some turns in less than a second."""
    for turn in turns(1.0):
        before = len(story.checks(f"file#{path}"))
        with turn:
            path.write_text("drifted")
            await story.until(lambda before=before: len(story.checks(f"file#{path}")) > before)
        assert path.read_text() == "x"
