"""What the tests of the scaffold kind share: trees of files, and short ways to converge them."""

from pathlib import Path

from reactor.resources.scaffold import Scaffold
from reactor.resources.scaffold.rendering import FixedValues


def grow(root: Path, files):
    """Make files with these texts below ``root``, and the directories they need."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def tree(root: Path):
    """The texts of all files below ``root``, by their paths from there; None when there is no such directory."""
    if not root.is_dir():
        return None
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()
    }


def make(tmp_path, context=None, functions=None, **properties):
    """A scaffold from ``templates`` to ``out``, with these data."""
    properties = {"ensure": "present", "source": str(tmp_path / "templates"), **properties}
    scaffold = Scaffold(name=str(tmp_path / "out"), **properties)
    scaffold._values = FixedValues(context or {}, functions or {})
    return scaffold


async def look(scaffold):
    """The plan for the world as it is."""
    return scaffold.plan(await scaffold.observe(), refresh=False)


async def converge(scaffold):
    """Run the plan, verify, and return what was done."""
    plan = await look(scaffold)
    for action in plan:
        await action.run()
    assert await scaffold.verify() == ()
    return [action.did for action in plan]
