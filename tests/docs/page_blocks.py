"""A page of the documentation as the blocks that are played: what is run, written, and shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PLAYED = ("sh", "console", "text", "yaml")
_FENCE = re.compile(r"(?P<indent> *)```(?P<language>[\w{}-]*)(?: .+)?")
_COMMENT = re.compile(r"<!-- (?P<word>before|world|not run)(?:: (?P<text>.*))? -->")
_FILE = re.compile(r"# ((?:[\w.-]|/)*\.yaml)\n")


@dataclass(frozen=True)
class Block:
    """``kind`` is the language of a code block, or ``before`` for a command in a comment; ``line`` is its first."""

    kind: str
    text: str
    line: int
    section: int

    @property
    def path(self):
        """The file that a ``yaml`` block is, as its first line says; None when it is none."""
        named = _FILE.match(self.text)
        return named and named[1]


@dataclass(frozen=True)
class Page:
    world: str
    blocks: tuple[Block, ...]
    unplayed: tuple[str, ...]
    """Why a block is not run, one for each such block."""

    @classmethod
    def of(cls, text):
        world, blocks, reasons, pending = "scratch", [], [], None
        for block in _everything(text):
            if block.kind == "world":
                world = block.text
            elif block.kind == "not run":
                pending = block.text
            elif pending is not None and block.kind == "sh":
                reasons.append(pending)
                pending = None
            else:
                blocks.append(block)
        return cls(world, tuple(blocks), tuple(reasons))

    @property
    def commands(self):
        return [block for block in self.blocks if block.kind in ("sh", "console")]


def _everything(text) -> Iterator[Block]:
    """Comments that say something and code blocks, in order; ``section`` counts the headings so far."""
    lines = iter(enumerate(text.splitlines(), start=1))
    section = 0
    for number, line in lines:
        if fence := _FENCE.fullmatch(line):
            inside = _until_the_end(lines, fence["indent"])
            if fence["language"] in PLAYED:
                yield Block(fence["language"], inside, number, section)
        elif comment := _COMMENT.fullmatch(line):
            yield Block(comment["word"], comment["text"] or "", number, section)
        elif line.startswith("#"):
            section += 1


def _until_the_end(lines, indent):
    inside = []
    for _, line in lines:
        if line == f"{indent}```":
            break
        inside.append(line.removeprefix(indent) + "\n")
    return "".join(inside)
