"""The arrows between the folders, and the one public door, as the design draws them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import reactor
from reactor import hostfs

ROOT = Path(__file__).parent.parent
KINDS = ROOT / "resources/__init__.py"

BY_ALL = {"reactor.errors", "reactor.named_tuple", "reactor.number_format", "reactor.suggestions"}
"""What every part of reactor may import."""

MAY_IMPORT = {
    "reactor.errors": set(),
    "reactor.error_codes": set(),
    "reactor.distributions": set(),
    "reactor.late_functions": set(),
    "reactor.late_imports": {"reactor.distributions", "reactor.late_functions", "reactor.lean_dataclass"},
    "reactor.lean_dataclass": set(),
    "reactor.named_tuple": set(),
    "reactor.number_format": set(),
    "reactor.own_process": set(),
    "reactor.suggestions": set(),
    "reactor.trust": set(),
    "reactor.resource": {"reactor.mountinfo", "reactor.distributions"},
    "reactor.hostfs": {"reactor.mountinfo", "reactor.atomic_write", "reactor.resource"},
    "reactor.language": set(),
    "reactor.unpacking": set(),
    "reactor.data": {"reactor.resource", "reactor.language"},
    "reactor.documents": {"reactor.resource", "reactor.manifest"},
    "reactor.mountinfo": set(),
    "reactor.facts": {"reactor.trust", "reactor.resource", "reactor.data", "reactor.mountinfo"},
    "reactor.backup": {"reactor.resource", "reactor.atomic_write", "reactor.clock"},
    "reactor.manifest": {
        "reactor.trust", "reactor.resource", "reactor.language", "reactor.data", "reactor.secrets",
    },
    "reactor.graph": {"reactor.resource"},
    "reactor.http": {"reactor.resource"},
    "reactor.secrets": {"reactor.trust", "reactor.resource", "reactor.language", "reactor.http"},
    "reactor.notify": {
        "reactor.resource", "reactor.language", "reactor.http", "reactor.engine", "reactor.atomic_write",
        "reactor.manifest", "reactor.trust",
    },
    "reactor.source": {"reactor.trust", "reactor.resource", "reactor.unpacking", "reactor.http"},
    "reactor.roles": {
        "reactor.trust", "reactor.resource", "reactor.manifest", "reactor.unpacking", "reactor.source",
    },
    "reactor.loading": {
        "reactor.resource", "reactor.manifest", "reactor.graph", "reactor.source", "reactor.roles",
    },
    "reactor.manifest_tests": {
        "reactor.resource", "reactor.manifest", "reactor.graph", "reactor.loading",
    },
    "reactor.lsp": {"reactor.resource", "reactor.manifest", "reactor.loading", "reactor.roles"},
    "reactor.engine": {"reactor.resource", "reactor.graph"},
    "reactor.journal": {"reactor.trust", "reactor.resource", "reactor.engine", "reactor.clock"},
    "reactor.console": {"reactor.resource", "reactor.graph", "reactor.engine"},
    "reactor.metrics": {"reactor.resource", "reactor.engine"},
    "reactor.atomic_write": set(),
    "reactor.clock": set(),
    "reactor.service": {"reactor.trust", "reactor.resource", "reactor.engine", "reactor.atomic_write"},
    "reactor.control": {
        "reactor.resource", "reactor.graph", "reactor.engine", "reactor.console", "reactor.journal", "reactor.metrics",
        "reactor.atomic_write", "reactor.clock",
    },
    "reactor.ui": {"reactor.resource", "reactor.graph", "reactor.engine", "reactor.journal", "reactor.control"},
    "reactor.ensure": {
        "reactor.resource", "reactor.manifest", "reactor.loading", "reactor.engine", "reactor.journal",
    },
    "reactor.fleet": {
        "reactor.atomic_write", "reactor.hostfs", "reactor.resource", "reactor.trust", "reactor.unpacking", "reactor.source",
        "reactor.clock", "reactor.own_process",
    },
    "reactor.testing": {"reactor.resource", "reactor.graph", "reactor.engine"},
    "reactor.cli": {
        "reactor.resource", "reactor.manifest", "reactor.graph", "reactor.loading", "reactor.engine",
        "reactor.backup", "reactor.console", "reactor.control", "reactor.journal", "reactor.data",
        "reactor.metrics", "reactor.service", "reactor.ui",
        "reactor.documents", "reactor.language", "reactor.facts", "reactor.ensure",
        "reactor.atomic_write", "reactor.hostfs", "reactor.trust", "reactor.error_codes",
        "reactor.manifest_tests", "reactor.roles", "reactor.fleet", "reactor.secrets", "reactor.notify",
        "reactor.source", "reactor.lsp", "reactor.mountinfo", "reactor.own_process",
    },
    "reactor.__main__": {"reactor.cli", "reactor.trust"},
    "reactor.resources": {"reactor", "reactor.hostfs", "reactor.watchers"},
    "reactor.watchers": {"reactor"},
}  # fmt: skip


DESIGN = ROOT / "docs/design.md"


def drawn(arrows):
    """The arrows as the page on the design shows them: the lowest folders first."""
    width = max(map(len, arrows)) + 1
    for folder in sorted(arrows, key=lambda each: (height(each, arrows), each)):
        targets = textwrap.wrap(", ".join(sorted(arrows[folder])) or "nothing", 100 - width)
        for number, line in enumerate(targets):
            yield f"{'' if number else folder:{width}}{'  ' if number else '─▶'} {line}"


def height(folder, arrows):
    """How many folders the longest way down from this one leads through."""
    return 1 + max((height(each, arrows) for each in arrows[folder] if each in arrows), default=-1)


def test_the_page_on_the_design_draws_the_arrows():
    picture = "```\n" + "\n".join(drawn(MAY_IMPORT)) + "\n```\n"
    section = DESIGN.read_text().partition("## The arrows\n")[2]
    assert picture in section, f"put this into {DESIGN}:\n{picture}"


PRIVATE_WORD = re.compile(
    r"agenda|blame|company|crowd|custody|debts?|desk|ear|fights?|flare|foregone|gossip|guest|hears?|herald"
    r"|kin|ledger|litter|mend|mended|newcomers?|onlookers?|owed|owes?|pays?|pledge|rehearsal|remember"
    r"|rings?|roster|said|say|scrub|somebody|strangers?|telling|tells|voice|who|whoever|witness"
)
"""Words that no name in the code has: the trade has others for these things. The glossary has them."""


@cache
def names_and_imports(path):
    """What the file at ``path`` names (modules aside), and its imports: each file is read once for all that ask."""
    names, imports = [], []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ):
                names.append(name)
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
    return names, imports


def words_of_names(path):
    """The words of the names that the file at ``path`` gives to modules, classes, functions, parameters and values."""
    for name in names_and_imports(path)[0]:
        yield from ((word.lower(), name) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name))
    yield from ((word, path.stem) for word in path.stem.split("_"))


def test_no_name_is_a_private_word():
    found = {
        f"{path}: {name}"
        for path in sources()
        for word, name in words_of_names(path)
        if PRIVATE_WORD.fullmatch(word)
    }
    assert not found


LINKED = {"reactor.resources", "reactor.watchers"}
"""They stand beside the package, and enter by its public doors as a third party's do."""


def home(module):
    """The folder (or top module) that ``module`` belongs to: ``reactor.graph`` for ``reactor.graph.steps.cycles``."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "reactor" and len(parts) > 1 else parts[0]


@cache
def imports(path):
    """Every project module that the file at ``path`` imports, also inside functions."""
    found = []
    for node in names_and_imports(path)[1]:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}: relative imports hide the arrows"
            found.append(node.module)
    return found


def module_of(path):
    """The name that the file at ``path`` is imported by: two folders beside the package are linked into it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "reactor" else ("reactor", *parts)).removesuffix(".__init__")


def sources():
    for top in ("reactor", "resources", "watchers"):
        yield from sorted((ROOT / top).rglob("*.py"))


def forbidden(path):
    """What the file at ``path`` imports against the arrows."""
    module = module_of(path)
    if module == "reactor":
        return []
    mine = home(module)
    allowed = {mine, *MAY_IMPORT[mine], *(BY_ALL if module.startswith("reactor.") else ())}
    return [name for name in imports(path) if name.split(".")[0] == "reactor" and home(name) not in allowed]


def violations(paths, forbidden):
    """The files among ``paths`` that import what is ``forbidden`` to them, and what that is."""
    found = {str(path.relative_to(ROOT)): sorted(forbidden(path)) for path in paths}
    assert found, "there are no such files"
    return {path: names for path, names in found.items() if names}


def test_imports_follow_the_arrows():
    assert violations(sources(), forbidden) == {}


def test_the_map_of_the_house_holds_every_part_and_nothing_imports_what_stands_below_it():
    drawn = [f"reactor.{part}" for part in re.findall(r"^- ``(\w+)/?``", reactor.__doc__, re.MULTILINE)]
    assert set(drawn) == {part for part in MAY_IMPORT if part.startswith("reactor.")} - {
        "reactor.__main__",
        *LINKED,
    }
    for below, part in enumerate(drawn):
        assert MAY_IMPORT[part] <= set(drawn[:below]), part


CIRCLES = {
    "reactor.resource": {"base", "declared"},
    "reactor.resources.certificate": {"kind", "rules"},
    "reactor.resources.file": {"kind", "lasting", "make_reconciler", "rules", "undoing"},
}
"""The circles that there are: what is too long for the module of a class, and takes an object of it."""


def modules_imported(path, modules):
    """The ``modules`` that the file at ``path`` imports: of ``from package import module``, the module."""
    for node in names_and_imports(path)[1]:
        if isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules
        else:
            parts = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            yield from parts or {node.module} & modules


def test_no_modules_import_each_other_in_a_circle():
    """Who follows the data through the program reads the modules in one direction."""
    paths = {module_of(path): path for path in sources() if path.name != "__init__.py"}
    arrows = nx.DiGraph(
        (name, other) for name, path in paths.items() for other in modules_imported(path, paths.keys())
    )
    circles = [names for names in nx.strongly_connected_components(arrows) if len(names) > 1]
    assert arrows.has_edge("reactor.engine.dispatcher", "reactor.engine.worker_pool")
    assert {frozenset(names) for names in circles} == {
        frozenset(f"{folder}.{name}" for name in names) for folder, names in CIRCLES.items()
    }


WING = {"expression": {"expression"}, "templates": {"expression", "templates"}}
"""Inside ``reactor.language``: what expressions and templates may import besides the modules at its top."""


def parts_imported(path, folder):
    """What the file at ``path`` imports of the package ``reactor.folder``: names of its parts."""
    return {name.split(".")[2] for name in imports(path) if name.startswith(f"reactor.{folder}.")}


def forbidden_in_language(path):
    mine = path.relative_to(ROOT / "reactor/language").parts[0]
    return parts_imported(path, "language") & set(WING) - WING.get(mine, set())


def test_expressions_know_nothing_of_templates():
    assert violations(ROOT.glob("reactor/language/**/*.py"), forbidden_in_language) == {}


_SHARED = {
    "documents",
    "bucket_names",
    "summary",
    "host_spec",
    "event_batch",
    "slot_holder",
    "sealed_secret",
    "shared_value",
    "debounced_event",
    "enrolment",
    "rollout",
    "bundle",
    "release",
    "wire",
    "link",
}
"""What both ends of a fleet, hosts and operators, may import of ``reactor.fleet``."""

FLEET = {
    "documents": set(),
    "rollout": {"documents"},
    "bundle": {"documents"},
    "release": {"documents", "rollout", "bundle"},
    "bucket_names": set(),
    "enrolment": {"documents", "wire"},
    "summary": {"documents", "rollout"},
    "host_spec": {"documents", "enrolment"},
    "event_batch": {"documents"},
    "slot_holder": {"documents"},
    "sealed_secret": {"documents", "enrolment", "wire"},
    "shared_value": {"link"},
    "debounced_event": set(),
    "host": _SHARED,
    "operator": _SHARED,
    "wire": set(),
    "link": {"wire"},
    "push": {"bundle"},
    "registry": {"link"},
    "sources": {"link", "registry"},
}
"""Inside ``reactor.fleet``: what a part may import of the others. A part that is not here may import all."""


def forbidden_in_fleet(path):
    mine = path.relative_to(ROOT / "reactor/fleet").with_suffix("").parts[0]
    if mine not in FLEET:
        return set()
    found = parts_imported(path, "fleet") - {mine} - FLEET[mine]
    if mine == "rollout":
        found |= {home(name) for name in imports(path)} & set(MAY_IMPORT) - {"reactor.fleet", *BY_ALL}
    return found


def test_the_parts_of_the_fleet_follow_their_arrows():
    assert violations(ROOT.glob("reactor/fleet/**/*.py"), forbidden_in_fleet) == {}


def modules_in(package):
    """The modules and packages in ``package``."""
    return {path.stem for path in package.glob("[a-z]*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }


def listings():
    """The packages whose text tells what their modules are for, and the modules that it does not name.

    Kinds have pages, and need not be named.
    """
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    kinds = {point.split(".")[2].partition(":")[0] for point in points["reactor.resources"].values()}
    for path in sources():
        if path.name == "__init__.py" and path.parent.name != "commands":  # it names two as examples
            modules = modules_in(path.parent)
            text = ast.get_docstring(ast.parse(path.read_text())) or ""
            named = modules & set(re.findall(r"`(\w+)/?`", text))
            if len(named) > 1:
                unnamed = modules - named
                yield str(path.parent.relative_to(ROOT)), unnamed - kinds if path == KINDS else unnamed


def test_a_package_that_lists_its_modules_lists_all_of_them():
    found = dict(listings())
    assert {"reactor/engine", "reactor/manifest", "resources", "resources/file"} <= found.keys()
    assert {package: missing for package, missing in found.items() if missing} == {}


def behind_the_doors(path):
    """What the file at ``path`` imports of the package but by its public doors."""
    doors = {"reactor.hostfs", *LINKED}
    return [name for name in imports(path) if name.startswith("reactor.") and home(name) not in doors]


def test_kinds_and_watchers_enter_by_the_public_doors():
    beside = [path for path in sources() if path.relative_to(ROOT).parts[0] != "reactor"]
    assert violations(beside, behind_the_doors) == {}


def test_the_door_to_the_files_of_the_host_is_complete():
    assert sorted(hostfs.__all__) == sorted(hostfs._HOME_OF)
    for name in hostfs.__all__:
        assert getattr(hostfs, name) is not None


def test_the_public_door_is_complete():
    assert sorted(reactor.__all__) == sorted(reactor._HOME_OF)
    for name in reactor.__all__:
        assert getattr(reactor, name) is not None
    declared = {
        alias.name
        for node in ast.walk(ast.parse((ROOT / "reactor/__init__.py").read_text()))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("reactor.")
        for alias in node.names
    }
    assert declared == set(reactor.__all__), "the names for type checkers are the names there are"


@pytest.mark.parametrize("module", ["reactor", "reactor.engine.scheduler", "reactor.manifest.manifest"])
def test_what_needs_no_trio_imports_none(module):
    code = f"import sys, {module}; sys.exit('trio' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
