"""A file that is not on the disk under test."""

from turns import turns


async def a_change_elsewhere(story, path):
    """Have a change of the file at ``path`` undone, in one of some turns in less than a second."""
    for turn in turns(1.0):
        with turn:
            path.write_text("drifted")
            await story.until(lambda: path.read_text() == "x")  # a check may be under way that began before
