"""trio is imported without OpenSSL and logging, pydantic without importlib.metadata and types of schemas, click without
gettext, yaml without its patterns, and each has it when it is needed."""

import json
import subprocess
import sys

import pytest


def printed(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_trio_is_imported_without_ssl_and_idna():
    code = "import json, sys, reactor, trio; print(json.dumps([name in sys.modules for name in ('trio', 'ssl', 'idna')]))"
    assert printed(code) == [True, False, False]


def test_each_is_the_real_one_for_all_others_and_for_trio():
    code = """
import json, sys, reactor, trio
import ssl, idna
from trio import _ssl, _socket
print(json.dumps([
    isinstance(ssl.create_default_context(), ssl.SSLContext),
    _ssl._stdlib_ssl.SSLError is ssl.SSLError,
    _socket._idna.encode is idna.encode,
    len([finder for finder in sys.meta_path if type(finder).__module__ == "reactor.late_imports"]),
]))
"""
    assert printed(code) == [True, True, True, 1]  # pydantic is not imported yet


@pytest.mark.parametrize("first", ["trio", "ssl"])
def test_what_is_imported_already_stays(first):
    code = f"import json, {first}, ssl; import reactor, trio; from trio import _ssl; print(json.dumps(_ssl._stdlib_ssl is ssl))"
    assert printed(code) is True


def test_a_trio_that_uses_a_name_while_it_is_imported_gets_the_real_module(tmp_path):
    (tmp_path / "trio").mkdir()
    (tmp_path / "trio" / "__init__.py").write_text("import ssl\nVERSION = ssl.OPENSSL_VERSION\n")
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import reactor, trio, ssl, idna
print(json.dumps([trio.VERSION == ssl.OPENSSL_VERSION, type(ssl).__name__, type(idna).__name__]))
"""
    assert printed(code) == [True, "module", "module"]


def test_a_connection_by_tls_and_a_name_beyond_ascii_work_when_nothing_was_imported_before():
    code = """
import json, reactor, trio
async def main():
    found = []
    try:
        await trio.open_ssl_over_tcp_stream("127.0.0.1", 1)
    except OSError as error:
        found.append(type(error).__name__)
    try:
        await trio.socket.getaddrinfo("b\u00fccher.invalid", 1)
    except OSError as error:
        found.append(type(error).__name__)
    print(json.dumps(found))
trio.run(main)
"""
    assert printed(code) == ["OSError", "gaierror"]


PLUGIN = """
import json, sys, types
sys.path.insert(0, {place!r})
import reactor
{before}
from pydantic import BaseModel
class Model(BaseModel):
    number: int
import plugin, importlib.metadata
print(json.dumps([
    plugin.seen, plugin.had_metadata, importlib.metadata.version("pydantic") > "2", type(importlib.metadata).__name__,
    [type(finder).__module__ for finder in sys.meta_path].count("reactor.late_imports"),
]))
"""


@pytest.mark.parametrize("before", ["", "import importlib.metadata"])
def test_a_plugin_of_pydantic_is_loaded_and_all_others_see_the_real_importlib_metadata(tmp_path, before):
    (tmp_path / "plugin.py").write_text("""
import sys
had_metadata = "importlib.metadata" in sys.modules
seen = []
class Plugin:
    def new_schema_validator(self, schema, schema_type, *rest):
        seen.append(schema_type.__name__)
        return None, None, None
plugin = Plugin()
""")
    (tmp_path / "plugin-1.0.dist-info").mkdir()
    (tmp_path / "plugin-1.0.dist-info/entry_points.txt").write_text("[pydantic]\nmine = plugin:plugin\n")
    assert printed(PLUGIN.format(place=str(tmp_path), before=before)) == [
        ["Model"],
        bool(before),
        True,
        "module",
        1,
    ]


def test_a_pydantic_that_uses_another_name_while_it_is_imported_gets_the_real_module(tmp_path):
    (tmp_path / "pydantic/plugin").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "plugin/__init__": "",
        "plugin/_loader": "import importlib.metadata as m, importlib.metadata._text as t\nVERSION = m.version('trio')\n",
    }.items():
        (tmp_path / f"pydantic/{name}.py").write_text(text)
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import reactor, pydantic.plugin._loader as loader, importlib.metadata
print(json.dumps([loader.VERSION == importlib.metadata.version("trio"), type(importlib.metadata).__name__, loader.t.__name__]))
"""
    assert printed(code) == [True, "module", "importlib.metadata._text"]


def test_pydantic_is_imported_without_openssl_and_still_compares_secrets():
    code = """
import json, sys, reactor
from pydantic import SecretStr
late = "secrets" in sys.modules
print(json.dumps([late, SecretStr("one") == SecretStr("one"), SecretStr("one") == SecretStr("other")]))
"""
    assert printed(code) == [False, True, False]


def test_trio_names_its_threads_without_looking_for_their_library():
    code = """
import json, sys, reactor, trio
late = [name in sys.modules for name in ("ctypes.util", "hmac", "subprocess")]
def comm():
    with open("/proc/thread-self/comm") as file:
        return file.read().strip()
name = trio.run(trio.to_thread.run_sync, comm)
import ctypes.util
from trio._core import _thread_cache
used = _thread_cache.ctypes.util.find_library("pthread")
print(json.dumps([late, name, type(ctypes.util).__name__, used, "ctypes.util" in sys.modules]))
"""
    assert printed(code) == [[False, False, False], "comm from trio.", "module", "libpthread.so.0", True]


def test_trio_starts_processes_though_it_was_imported_without_subprocess():
    code = """
import json, sys, reactor, trio
before = "subprocess" in sys.modules
async def main():
    done = await trio.run_process(["echo", "x"], capture_stdout=True)
    failed = None
    try:
        await trio.run_process(["false"])
    except Exception as error:
        failed = type(error)
    import subprocess
    print(json.dumps([before, done.stdout.decode(), isinstance(done, subprocess.CompletedProcess), failed is subprocess.CalledProcessError]))
trio.run(main)
"""
    assert printed(code) == [False, "x\n", True, True]


def test_attrs_and_uuid_are_imported_without_platform_and_know_the_same():
    code = """
import json, sys{first}
import trio, uuid
from attr import _compat
known = [_compat.PYPY, uuid._AIX, uuid._LINUX]
unused = "platform" not in sys.modules
names = [each.platform.machine() for each in (_compat, uuid) if hasattr(each, "platform")]  # since 3.13, uuid has none
print(json.dumps([known, unused, all(names) and len(set(names))]))
"""
    known, unused, machines = printed(code.format(first=", reactor"))
    assert (unused, machines) == (True, 1)
    assert [known, False, 1] == printed(code.format(first=""))


SCHEMAS = """
import json, sys, typing, typing_extensions
before = [typing, typing_extensions, typing.TypedDict, typing_extensions.TypedDict]
import reactor
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, core_schema
class Described(typing_extensions.TypedDict, total=False):
    number: typing_extensions.Required[int]
class Model(BaseModel):
    model_config = ConfigDict(title="T", extra="forbid")
    items: list[Described]
try:
    Model(items=[{}])
except ValidationError as error:
    errors = [each["type"] for each in error.errors()]
config = core_schema.CoreConfig(title="x")
print(json.dumps([
    before == [sys.modules["typing"], sys.modules["typing_extensions"], typing.TypedDict, typing_extensions.TypedDict],
    typing_extensions.is_typeddict(ErrorDetails), typing_extensions.is_typeddict(core_schema.CoreConfig),
    type(config) is dict, config, core_schema.str_schema(max_length=1), errors,
    Model.model_json_schema()["properties"]["items"]["items"], Model.model_json_schema()["title"],
    TypeAdapter(Described).validate_python({"number": "3"}),
]))
"""


def test_the_descriptions_of_schemas_make_dictionaries_and_all_others_have_typed_ones():
    assert printed(SCHEMAS) == [
        True,
        True,
        False,
        True,
        {"title": "x"},
        {"type": "str", "max_length": 1},
        ["missing"],
        {"$ref": "#/$defs/Described"},
        "T",
        {"number": 3},
    ]


def test_fractions_and_wrapped_texts_are_the_same():
    code = """
import json{first}
import fractions, textwrap
try:
    fractions.Fraction("1/a")
except ValueError as error:
    said = str(error)
found = [str(fractions.Fraction(" -3/6 ")), str(fractions.Fraction("1.5e2")), said]
found += [textwrap.wrap("one two-three\\tfour. five", 9, fix_sentence_endings=True), textwrap.dedent("\\n  a\\n   b\\n \\n")]
print(json.dumps([*found, textwrap.indent("a\\n\\nb", "- "), textwrap.shorten("one two three", 9)]))
"""
    assert printed(code.format(first=", reactor")) == printed(code.format(first=""))


def test_options_of_a_model_may_be_given_with_its_class():
    code = """
import json, reactor
from pydantic import BaseModel, ConfigDict, Field
class Model(BaseModel, frozen=True, title="T"):
    model_config = ConfigDict(extra="forbid")
    number: int = Field(1, ge=0, description="D")
print(json.dumps([Model.model_config, type(Model.model_config) is dict, Model.model_fields["number"].description, sorted(ConfigDict.__annotations__)[:2]]))
"""
    assert printed(code) == [
        {"extra": "forbid", "frozen": True, "title": "T"},
        True,
        "D",
        ["alias_generator", "allow_inf_nan"],
    ]


def test_the_reader_of_yaml_in_python_still_refuses_what_can_not_be_printed():
    code = """
import json, re, reactor, yaml
found = [yaml.reader.re.search is re.search, re is __import__("sys").modules["re"], type(re.compile("a")) is re.Pattern]
found.append(yaml.load("a: b\\n", yaml.SafeLoader))
try:
    yaml.load("a: \\x01", yaml.SafeLoader)
except yaml.reader.ReaderError as error:
    found.append([error.position, error.reason])
print(json.dumps(found))
"""
    assert printed(code) == [True, True, True, {"a": "b"}, [3, "special characters are not allowed"]]


def test_a_module_that_can_not_be_imported_leaves_the_real_ones_in_place(tmp_path):
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml/__init__.py").write_text("")
    (tmp_path / "yaml/reader.py").write_text("import re\nPATTERN = re.compile('a')\n1 / 0\n")
    code = f"""
import json, re, sys
sys.path.insert(0, {str(tmp_path)!r})
import reactor
try:
    import yaml.reader
except ZeroDivisionError:
    print(json.dumps([sys.modules["re"] is re, type(re.compile("a")) is re.Pattern]))
"""
    assert printed(code) == [True, True]


def test_trio_is_imported_without_logging_and_logs_what_goes_wrong():
    code = """
import json, sys, reactor, trio
late = [name in sys.modules for name in ("logging", "traceback")]
class Broken(trio.abc.Instrument):
    def before_run(self):
        raise ValueError("broken")
async def main():
    pass
import logging
records = []
class Collector(logging.Handler):
    def emit(self, record):
        records.append([record.name, record.exc_info[0].__name__])
logging.getLogger("trio.abc.Instrument").addHandler(Collector())
trio.run(main, instruments=[Broken()])
print(json.dumps([late, records]))
"""
    assert printed(code) == [[False, False], [["trio.abc.Instrument", "ValueError"]]]


def test_click_is_imported_without_looking_for_translations_and_says_the_same():
    code = """
import json, sys{first}
import click
@click.command()
@click.option("--size", nargs=2, help="Two sizes.")
@click.argument("names", nargs=-1, required=True)
def main(size, names):
    pass
said = []
for words in ([], ["--size", "1"], ["--sizes", "a"], ["--size", "1", "2", "a"]):
    try:
        main.main(words, standalone_mode=False)
    except click.ClickException as error:
        said.append(error.format_message())
print(json.dumps([said, main.get_help(click.Context(main)), [name in sys.modules for name in ("gettext", "locale")]]))
"""
    ours, usual = printed(code.format(first=", reactor")), printed(code.format(first=""))
    assert ours[:2] == usual[:2]
    assert ours[2] == [False, False]


def test_the_resolver_of_yaml_in_python_still_knows_all_types():
    code = """
import json, reactor, yaml
text = "[yes, 1.5e3, 0b11, 2001-12-14t21:59:43.10-05:00, ~, '1', 2002-12-14]"
print(json.dumps([repr(each) for each in yaml.load(text, yaml.SafeLoader)]))
"""
    assert printed(code) == [
        "True",
        "'1.5e3'",
        "3",
        "datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400)))",
        "None",
        "'1'",
        "datetime.date(2002, 12, 14)",
    ]


def test_a_module_that_was_executed_with_other_builtins_has_the_real_ones_afterwards():
    """From Python 3.12, a generic class can't be made by code of a module that has none: KeyError."""
    code = "import builtins, json, reactor, attr._make; print(json.dumps(attr._make.__builtins__ is vars(builtins)))"
    assert printed(code) is True
