"""The methods that attrs writes are compiled when they are first called, and do what they always do."""

import json
import subprocess
import sys
import threading

from reactor.late_functions import define_functions, keep_script

USE = """
import attrs, copy, inspect, json, pickle, sys, traceback, typing
@attrs.define(order=True)
class Point:
    x: int = attrs.field(validator=attrs.validators.instance_of(int))
    y: list = attrs.field(factory=list, kw_only=True)
    z: int = attrs.field(default=3, alias="last")
@attrs.frozen
class Named(Point):
    name: str = "n"
Any = typing.TypeVar("Any")
@attrs.define
class Box(typing.Generic[Any]):
    content: Any
one, same, other = Point(1, y=[2]), Point(1, y=[2]), Named(2, last=4)
found = [repr(one), one == same, one == other, one != same, one < Point(2), repr(other), hash(Named) == hash(Named)]
for wrong in (lambda: Point(), lambda: Point("a"), lambda: Point(1, 2, 3), lambda: Point(1, w=3)):
    try:
        wrong()
    except TypeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        found += [str(error.args[0]), [[each.filename, each.lineno, each.line] for each in frames if each.name != "_late"]]
try:
    other.x = 3
except attrs.exceptions.FrozenInstanceError as error:
    found.append(str(error))
one.y.append(one)
found += [repr(one), repr(attrs.evolve(other, name="m")), repr(pickle.loads(pickle.dumps(other))), repr(copy.copy(other))]
found += [Point.__init__.__qualname__, Point.__init__.__module__, Point.__init__.__doc__, Point.__init__.__defaults__]
found += [str(inspect.signature(Point)), repr(attrs.fields(Point).x), repr(Box[int](1)), str(inspect.signature(Box))]
"""


def printed(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_they_do_what_the_usual_ones_do():
    late, usual = (printed(f"{first}{USE}print(json.dumps(found))") for first in ("import reactor", ""))
    assert late == usual


def test_attrs_keeps_the_builtins_that_code_in_c_looks_up_in_a_module():
    code = "import builtins, json, reactor; from attr import _make; print(json.dumps(vars(_make)['__builtins__'] is vars(builtins)))"
    assert printed(code) is True


def test_only_those_that_are_called_are_compiled():
    code = """
import json, sys, reactor
compiled = []
sys.addaudithook(lambda event, given: compiled.append(given) if event == "compile" and b"\\ndef __" in b"\\n" + (given[0] or b"") else None)
import attrs
before = len(compiled)
@attrs.define
class Point:
    x: int
Point(1)
Point(2)
print(json.dumps([before, [each[1] for each in compiled[before:]]]))
"""
    before, after = printed(code)
    assert before < 25  # of two hundred, for attrs uses its own classes
    assert after == ["<attrs generated methods __main__.Point>"]


def test_a_script_that_has_more_than_functions_is_executed_at_once():
    found = {}
    define_functions(
        keep_script("class Made:\n    x = 1\n\ndef one():\n    return 1\n", "f", "exec"), {}, found
    )
    assert (found["Made"].x, found["one"]()) == (1, 1)


def test_the_names_are_the_place_of_the_functions_unless_there_is_another():
    names = {"number": 3}
    define_functions(
        keep_script("def one(a, b=number, *, c=number):\n    return a + b + c + number", "f", "exec"), names
    )
    assert names["one"](1, c=1) == 8
    assert names["one"](1) == 10


def test_threads_may_make_the_first_call_together():
    count = 8
    for _ in range(50):
        names = {}
        define_functions(keep_script("def one(a, *, b=2):\n    return a + b", "f", "exec"), names)
        start, found = threading.Barrier(count), []

        def call(one=names["one"], start=start, found=found):
            start.wait()
            found.append(one(1))

        threads = [threading.Thread(target=call) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [3] * count
