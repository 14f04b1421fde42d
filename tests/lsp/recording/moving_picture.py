"""Turn screens of a terminal into one SVG that moves by itself: a strip of frames, of which one is seen at a time.

It has no scripts and fits light and dark pages. Where the reader wants no motion, one frame stands still.
"""

from html import escape
from typing import NamedTuple

CELL, LINE, PAD, CAPTION = 8, 18, 12, 40
STYLE = """
svg { --screen: #fdfdfb; --text: #24292f; --edge: #d0d7de; --menu: #e7ecf2; --chosen: #0550ae; --chosen-text: #fff;
 --cursor: #24292f; --red: #b3141e; --green: #116329; --yellow: #7a4a00; --blue: #0550ae; --magenta: #7d2fb5;
 --cyan: #0b6478; --grey: #59636e; --bar: #d8dee5 }
@media (prefers-color-scheme: dark) { svg { --screen: #15191f; --text: #e2e6ea; --edge: #3a424c; --menu: #2a313a;
 --chosen: #79b8ff; --chosen-text: #0d1117; --cursor: #e2e6ea; --red: #ff8e86; --green: #7ee08a; --yellow: #e5b567;
 --blue: #79b8ff; --magenta: #d6a8ff; --cyan: #6fd6e8; --grey: #9aa4af; --bar: #323a44 } }
text { font: 13.3px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre;
 fill: var(--text) }
.caption { font: 600 15px system-ui, sans-serif }
.b { font-weight: 700 } .i { font-style: italic } .u { text-decoration: underline }
""".strip()


class Frame(NamedTuple):
    """What is seen for some seconds."""

    rows: tuple
    seconds: float
    caption: str


def moving_picture(frames, still, size, title, names):
    """Return the SVG. ``still`` is the number of the frame for those who want no motion, ``names`` are of the colours."""
    columns, lines = size
    width, height = columns * CELL + 2 * PAD, lines * LINE + 2 * PAD + CAPTION
    rows = _Rows(names)
    strip = "\n".join(
        f'<g transform="translate({number * width})">{rows.drawn(frame)}{_caption(frame, height)}</g>'
        for number, frame in enumerate(frames)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n{rows.style()}\n{_motion(frames, still, width)}</style>\n<defs>\n{rows.defined()}\n</defs>\n"
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" fill="var(--screen)"'
        f' stroke="var(--edge)"/>\n<g class="strip">\n{strip}\n</g>\n</svg>\n'
    )


def _motion(frames, still, width):
    total, at, steps = sum(frame.seconds for frame in frames), 0.0, []
    for number, frame in enumerate(frames):
        steps.append(f"{at / total:.3%}{{transform:translate({-number * width}px)}}")
        at += frame.seconds
    return (
        f".strip {{ animation: play {total:.1f}s step-end infinite }}\n@keyframes play {{{''.join(steps)}}}\n"
        "@media (prefers-reduced-motion: reduce) { .strip { animation: none; transform: translate("
        f"{-still * width}px) }} }}\n"
    )


def _caption(frame, height):
    return f'<text class="caption" x="{PAD + 2}" y="{height - 16}">{escape(frame.caption)}</text>'


class _Rows:
    """Draws each row once, and refers to it wherever it is seen."""

    def __init__(self, names):
        self._names = names
        self._ids = {}
        self._colors = set()

    def drawn(self, frame):
        """Return the rows of a frame."""
        return "".join(
            f'<use href="#r{self._ids.setdefault(row, len(self._ids))}" y="{PAD + number * LINE}"/>'
            for number, row in enumerate(frame.rows)
            if row
        )

    def defined(self):
        """Return the rows that were drawn."""
        return "\n".join(
            f'<g id="r{number}">{"".join(map(self._run, row))}</g>' for row, number in self._ids.items()
        )

    def style(self):
        """Return the styles of the colours."""
        return "".join(f".{name}{{fill:var(--{name})}}" for name in sorted(self._names.values()))

    def _run(self, run):
        x, width, look = PAD + run.column * CELL, len(run.text) * CELL, run.look
        behind = ""
        if look.background != "default":
            behind = f'<rect class="{self._names[look.background]}" x="{x}" width="{width}" height="{LINE}"/>'
        classes = [] if look.color == "default" else [self._names[look.color]]
        classes += [name for name, is_on in zip("biu", look[2:], strict=True) if is_on]
        marked = f' class="{" ".join(classes)}"' if classes else ""
        text = run.text.rstrip()
        skipped = len(text) - len(text.lstrip())
        if not text:
            return behind
        x, width = x + skipped * CELL, (len(text) - skipped) * CELL
        return f'{behind}<text{marked} x="{x}" y="13" textLength="{width}">{escape(text.lstrip(), quote=False)}</text>'
