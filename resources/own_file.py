"""Files that belong to one resource as a whole: root has them, and everybody may read them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from reactor import Action
from reactor.hostfs import Attributes, Inline, content_diff, set_attributes, write_file
from reactor.resources import textfile
from reactor.resources.shared_lines import Found

ATTRIBUTES = Attributes(0, 0, 0o644)


def steps_of(
    title: str,
    path: str,
    text: str | None,
    found: Found | None,
    store: Callable[[], Awaitable[bool | None]] | None = None,
    *,
    made: str = "created",
) -> Iterator[Action]:
    """What makes the file at ``path``, as it was ``found``, hold ``text``; None removes it.

    ``title`` is the file in words, and ``made`` what was done if there was none. ``store`` writes it, by default alone.
    """
    if text is None:
        if found is not None:
            yield textfile.replace_step(path, None, title=title)
    elif found is None or found.data != text.encode() or found.path != path:
        words = f"{made if found is None else 'changed'} {title}"
        write = store or partial(write_file, path, Inline(text), ATTRIBUTES)
        yield Action.proven(words, write, partial(content_diff, path, Inline(text), ()))
    elif found.attributes != ATTRIBUTES:
        words = f"set owner root and mode 0644 of {title}"
        yield Action.proven(words, partial(set_attributes, path, ATTRIBUTES))
