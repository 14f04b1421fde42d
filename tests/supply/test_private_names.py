"""The private names of libraries that we use are where they were, and do what they did."""

import ast
import os
import sys
from contextlib import contextmanager

import pytest
from descriptors import open_descriptors
from pins import ROOT, declared
from private_names import PRIVATE, PUBLIC_MODULES, PrivateUse, advice, moved

OURS = {"reactor", "resources", "watchers"}
NOT_INSTALLED = {"_typeshed"}  # for type checkers only


@contextmanager
def explained(distribution, used_in):
    """Whatever goes wrong in here is said to be the library's doing."""
    try:
        yield
    except Exception as error:
        pytest.fail(advice(distribution, f"{type(error).__name__}: {error}", used_in), pytrace=False)


@pytest.mark.parametrize("use", PRIVATE, ids=lambda use: use.module)
def test_a_private_name_is_where_it_was(use):
    if problem := moved(use):
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("click.core", "Command.gone", "click.core has no Command.gone"),
        ("click.gone", "Command", "click.gone can't be imported"),
    ],
)
def test_a_name_that_has_moved_is_reported_with_what_to_do(module, name, said):
    problem = moved(PrivateUse("click", module, (name,), "reactor/some.py"))
    assert said in problem
    assert "Adapt reactor/some.py" in problem
    assert "run scripts/lock" in problem


def imported_modules():
    """The modules of libraries that our code imports, and where."""
    known = OURS | NOT_INSTALLED | set(sys.stdlib_module_names) | {"compression"}  # in Python from 3.14 on
    for path in sorted(path for folder in OURS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            else:
                continue
            for module in modules:
                if module.partition(".")[0] not in known:
                    yield module, str(path.relative_to(ROOT))


def test_every_module_of_a_library_is_known_to_be_public_or_tested():
    known = PUBLIC_MODULES | {use.module for use in PRIVATE}
    unknown = [f"{path}: {module}" for module, path in imported_modules() if module not in known]
    assert not unknown, (
        "is the module named in the documentation of its library? Then it goes to PUBLIC_MODULES in "
        "tests/supply/private_names.py, else to PRIVATE there, and the library gets an upper bound in pyproject.toml"
    )


def test_every_private_use_is_one_of_the_code():
    """Nothing is kept on the list that the code has stopped using: its bound could go."""
    sources = {use.used_in: (ROOT / use.used_in).read_text() for use in PRIVATE}
    for use in PRIVATE:
        for name in use.names:
            # The class itself may go by another name there.
            assert name.rpartition(".")[2] in sources[use.used_in], (use.module, name)


@pytest.mark.parametrize("distribution", sorted({use.distribution for use in PRIVATE}))
def test_a_library_with_private_names_in_use_has_an_upper_bound_below_its_next_series(distribution):
    found = [each for each in declared(dev=True) if each.name == distribution]
    assert found
    for requirement in found:
        bounds = [each for each in requirement.specifier if each.operator in {"<", "==", "~="}]
        assert bounds, (
            f"pyproject.toml: {requirement} needs an upper bound: {distribution} has private names in use"
        )
        assert all("." in each.version for each in bounds), (
            f"{requirement}: a new minor version may move a private name"
        )


async def test_watchdog_notices_and_frees_without_its_thread(tmp_path):
    with explained("watchdog", "watchers/inotify_descriptor.py"):
        from reactor.watchers.inotify_descriptor import InotifyDescriptor

        before = open_descriptors()
        inotify = InotifyDescriptor()
        assert not inotify.is_alive()
        watched = inotify.watch(os.fsencode(tmp_path))
        (tmp_path / "file").touch()
        assert (watched.wd, b"file") in [(wd, name) for wd, _, _, name in inotify.read()]
        inotify.unwatch(watched)
        inotify.forget(watched.wd)
        inotify.close()
        assert not open_descriptors() - before


@pytest.mark.parametrize("package", ["dbus_next", "dbus_fast"])
def test_a_library_of_d_bus_authenticates_without_its_loop(package):
    with explained(package.replace("_", "-"), "watchers/dbus/transport.py"):
        from reactor.watchers.dbus.transport import Library

        handshake = Library(package).handshake()
        assert handshake.begin().startswith("AUTH EXTERNAL")
        assert handshake.answer("OK 1234") == "BEGIN"


def test_pyroute2_encodes_and_decodes_messages_without_its_sockets():
    with explained("pyroute2", "resources/network/rtnetlink.py"):
        from reactor.resources.network.rtnetlink import decoded, message

        rtm_newlink = 16
        again = decoded(message(rtm_newlink, [("IFLA_MTU", 1400)], index=3))
        assert again["index"] == 3
        assert again.get_attr("IFLA_MTU") == 1400


def test_jinja_compiles_our_steps_into_its_loops():
    with explained("jinja2", "reactor/language/templates/jinja/environment.py"):
        from reactor.language.templates.jinja.environment import LimitedEnvironment

        code = LimitedEnvironment().compile("{% for x in y %}{{ x ~ 1 }}{{ x < y }}{% endfor %}", raw=True)
        assert "environment.step" in code
        assert "environment.concat((" in code
        assert "environment.weighed(" in code


def test_prometheus_writes_numbers_as_go_does():
    with explained("prometheus-client", "reactor/metrics/page.py"):
        from prometheus_client.utils import floatToGoString

        assert [floatToGoString(number) for number in (0.005, float("inf"))] == ["0.005", "+Inf"]


def test_yaml_reports_the_first_character_that_it_does_not_take():
    with explained("pyyaml", "reactor/manifest/syntax_errors.py"):
        from yaml.reader import Reader

        assert Reader.NON_PRINTABLE.search("a\x01b").start() == 1
