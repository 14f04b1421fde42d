"""The configurations of docs/editors.md, in the very editors."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/editors.md").read_text()
WRONG = "resources:\n  - file:\n      - /x: {ensure: presnt}\n"
QUIT_WITH_PROBLEMS = """
vim.api.nvim_create_autocmd("DiagnosticChanged", {callback = function()
  local found = vim.diagnostic.get(0)
  if #found == 0 then return end
  local file = io.open("found", "w")
  for _, each in ipairs(found) do file:write(("%d: %s\\n"):format(each.lnum + 1, each.message)) end
  file:close()
  vim.cmd("quitall!")
end})
"""
WRITE_PROBLEMS = """
let begin = reltime()
while empty(ale#engine#GetLoclist(bufnr())) && reltimefloat(reltime(begin)) < 60
  sleep 10m
endwhile
call writefile(map(copy(ale#engine#GetLoclist(bufnr())), {_, each -> each.lnum . ': ' . each.text}), 'found')
quitall!
"""
ALE = Path("/usr/share/vim/vimfiles/pack/dist-bundle/opt/ale")


def configuration(language):
    """The block of the page in that language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return block


def edited(directory, *command):
    """What the editor wrote to the file "found"."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"HOME": str(directory), "PATH": path, "LANG": "C.UTF-8"}
    (directory / "site.yaml").write_text(WRONG)
    subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return (directory / "found").read_text()


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs neovim")
def test_neovim_shows_the_problems_with_the_configuration_of_the_page(tmp_path):
    (tmp_path / "init.lua").write_text(configuration("lua"))
    (tmp_path / "check.lua").write_text(QUIT_WITH_PROBLEMS)
    found = edited(tmp_path, "nvim", "--headless", "-u", "init.lua", "-c", "luafile check.lua", "site.yaml")
    assert "3: ensure must be 'present'" in found


@pytest.mark.skipif(not ALE.exists(), reason="needs vim-ale, and a vim with jobs")
def test_vim_shows_the_problems_with_the_configuration_of_the_page(tmp_path):
    (tmp_path / "vimrc").write_text(configuration("vim"))
    (tmp_path / "check.vim").write_text(WRITE_PROBLEMS)
    found = edited(
        tmp_path, "vim", "-Nu", "vimrc", "--not-a-term", "-T", "dumb", "site.yaml", "-S", "check.vim"
    )
    assert "3: ensure must be 'present'" in found
