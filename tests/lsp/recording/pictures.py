"""Record `reactor lsp` in Neovim as a picture that moves. ``scripts/pictures`` calls it."""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from moving_picture import Frame, moving_picture
from terminal import Terminal

ROOT = Path(__file__).parents[3]
COLUMNS, LINES = 92, 22
TITLE = (
    "reactor lsp in Neovim: problems, completion, documentation, go to definition and rename in a manifest"
)
MANIFEST = r"""data:
  web: {port: 8080}

resources:
  - package:
      - nginx: {ensure: present}
  - file:
      - /etc/nginx/shop.conf:
          ensure: present
          owner: root
          group: root
          mode: "0644"
          content: "listen {{ Data.web.port }};\n"
          require: package#nginx
"""
LOOKS = """
vim.cmd("filetype indent off")
vim.o.completeopt, vim.o.pumheight, vim.o.shortmess = "menuone,noinsert", 8, vim.o.shortmess .. "cFI"
vim.o.ruler, vim.o.laststatus, vim.o.showmode, vim.o.guicursor = false, 0, false, "a:block"
vim.o.showcmd, vim.o.signcolumn, vim.o.autoindent = false, "yes", false
local looks = {
  Normal = {}, NonText = { 8 }, EndOfBuffer = { 8 }, Comment = { 8 }, Identifier = { 4 }, String = { 2 }, Constant = { 5 },
  Special = { 5 }, Statement = { 4 }, PreProc = { 5 }, Type = { 4 }, Number = { 5 }, Boolean = { 5 }, Question = { 6 },
  MoreMsg = { 6 }, Directory = { 4 }, Title = { 5 }, Delimiter = { 8 }, Operator = { 8 }, SignColumn = {}, MatchParen = {},
  Pmenu = { "NONE", 7 }, PmenuSel = { 15, 12 }, PmenuSbar = { "NONE", 7 }, PmenuThumb = { "NONE", 8 }, NormalFloat = { "NONE", 7 },
  DiagnosticError = { 1 }, DiagnosticUnderlineError = { 1 }, DiagnosticSignError = { 1 }, Underlined = { 4 }, Error = { 1 },
}
for name, look in pairs(looks) do
  vim.cmd(("highlight %s cterm=NONE ctermfg=%s ctermbg=%s"):format(name, look[1] or "NONE", look[2] or "NONE"))
end
"""
NAMES = {
    **{name: name for name in ("screen", "text", "cursor", "red", "green", "blue", "magenta", "cyan")},
    "brown": "yellow",
    "white": "menu",
    "brightblack": "grey",
    "brightblue": "chosen",
    "brightwhite": "chosen-text",
}
COMPLETE, NEXT, ACCEPT, ESCAPE, DEFINITION = "\x18\x0f", "\x0e", "\x19", "\x1b", "\x1d"


class Recording:
    """The frames of an editor. Ends the editor at the end of the block."""

    def __init__(self, terminal):
        self._terminal = terminal
        self.frames = []
        self.caption = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._terminal.close()

    def show(self, seconds):
        """Take a frame."""
        self.frames.append(Frame(self._terminal.rows(), seconds, self.caption))

    def type(self, text, seconds=0.09):
        """Press one key after the other, and spaces that follow each other at once."""
        for key in re.findall(" +|.", text, re.DOTALL):
            self._terminal.keys(key)
            self._terminal.until()
            self.show(seconds)

    def press(self, keys, *texts, seconds=0.4, **more):
        """Press keys as one, and wait until the screen has ``texts``."""
        self._terminal.keys(keys)
        self._terminal.until(*texts, **more)
        self.show(seconds)


def story(recording):
    """Edit a manifest. Return the number of the frame that shows most."""
    recording.caption = "A manifest in Neovim, with the configuration of this page"
    recording.press("", "package#nginx", seconds=2)
    recording.caption = "A problem shows while you type"
    recording.press("9G$", seconds=0.4)
    recording.press("ciw", seconds=0.4)
    recording.type("presen")
    recording.press("", "ensure must be", seconds=3)
    recording.caption = "Ctrl-X Ctrl-O: the values that may stand here"
    recording.press(COMPLETE, "EnumMember", seconds=1.5)
    recording.press(ACCEPT, without=["ensure must be"], seconds=1)
    recording.press(ESCAPE + "Go", seconds=0.4)
    recording.caption = "Ctrl-X Ctrl-O: the kinds"
    recording.type("  - se")
    recording.press(COMPLETE, "service Class", seconds=1.5)
    recording.press(ACCEPT, seconds=0.5)
    recording.type("\r      - nginx:\r          e")
    recording.caption = "Ctrl-X Ctrl-O: the properties of the kind"
    recording.press(COMPLETE, "Property", seconds=2)
    recording.press(ACCEPT, seconds=0.4)
    recording.type("true\r          sub")
    recording.press(COMPLETE, "Property", seconds=1.5)
    recording.press(NEXT, seconds=0.4)
    recording.press(ACCEPT, seconds=0.4)
    recording.caption = "Ctrl-X Ctrl-O: the resources of this manifest"
    recording.press(COMPLETE, "Reference", seconds=2)
    still = len(recording.frames) - 1
    recording.press(ACCEPT, seconds=0.8)
    recording.press(ESCAPE, seconds=0.5)
    recording.caption = "K: the documentation of what is under the cursor"
    recording.press("k0w", seconds=0.8)
    recording.press("K", "boot", seconds=3.5)
    recording.caption = "Ctrl-]: go to the declaration"
    recording.press("j$", without=["boot"], seconds=1)
    recording.press(DEFINITION, seconds=2)
    recording.caption = "grn: rename a resource here and wherever it is referred to"
    recording.press("grn", "New Name", seconds=0.8)
    recording.press("\x15", seconds=0.3)
    recording.type("/etc/nginx/site.conf")
    recording.press("\r", "subscribe: file#/etc/nginx/site.conf", seconds=4)
    return still


def main(directory):
    """Write the picture to ``directory``."""
    with TemporaryDirectory() as scratch:
        page = (ROOT / "docs/editors.md").read_text()
        (Path(scratch) / "init.lua").write_text(page.split("```lua\n")[1].split("```")[0] + LOOKS)
        (Path(scratch) / "site.yaml").write_text(MANIFEST)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"HOME": scratch, "LANG": "C.UTF-8", "TERM": "xterm-16color", "PATH": path}
        os.chdir(scratch)  # the editor shows the name of the file without a directory
        terminal = Terminal(["nvim", "-u", "init.lua", "site.yaml"], environment, COLUMNS, LINES)
        with Recording(terminal) as recording:
            still = story(recording)
    picture = moving_picture(recording.frames, still, (COLUMNS, LINES), TITLE, NAMES)
    (directory / "editor.svg").write_text(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
