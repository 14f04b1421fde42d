"""Files on the disk under test and elsewhere."""

import os

from turns import turns

from reactor.resources.file import File

OWN = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}


def a_file(path, content="x", **properties):
    return File(name=str(path), ensure="present", **({"content": content} | OWN | properties))


async def a_change_elsewhere(story, path):
    """Have a change of the file at ``path`` undone, in one of some turns in less than a second."""
    for turn in turns(1.0):
        with turn:
            path.write_text("drifted")
            await story.until(lambda: path.read_text() == "x")  # a check may be under way that began before
