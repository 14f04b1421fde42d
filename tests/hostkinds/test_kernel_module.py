"""The kind kernel_module. The kernel of the tests may have no modules: then a list and a modprobe stand for it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import one_shot
import pytest

from reactor.engine.events import Noted, Result
from reactor.resource.plan import ResourceError
from reactor.resources.kernel_module import KernelModule, kind, modules
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

BOOT = Path("/etc/modules-load.d/reactor-br_netfilter.conf")
SETTINGS = Path("/etc/modprobe.d/reactor-br_netfilter.conf")
KNOWN = ("br_netfilter", "bridge", "kvm_intel", "dummy")
HEADER = "# Managed by reactor: what is changed here is changed back.\n"

MODPROBE = """#!/bin/sh
# What modprobe does to the list of modules that stands for that of the kernel.
list={list} mode=load
for word; do
    case $word in
    --dry-run) mode=look ;;
    --remove) mode=remove ;;
    --) ;;
    *) name=$(echo "$word" | tr - _) ;;
    esac
done
case " {known} " in *" $name "*) ;; *) echo "modprobe: FATAL: Module $name not found in directory /lib/modules/x" >&2; exit 1 ;; esac
case $mode in
look) ;;
load) grep -q "^$name " $list || echo "$name 16384 0 - Live 0x0" >>$list ;;
remove)
    if grep -q "^$name [0-9]* [1-9]" $list; then echo "modprobe: FATAL: Module $name is in use." >&2; exit 1; fi
    sed -i "/^$name /d" $list ;;
esac
"""


@pytest.fixture(autouse=True)
def kernel(tmp_path, monkeypatch):
    """The list of loaded modules."""
    for directory in (BOOT.parent, SETTINGS.parent):
        directory.mkdir(exist_ok=True)
    listed = tmp_path / "modules"
    listed.write_text("bridge 311296 1 br_other, Live 0x0\n")
    program = tmp_path / "modprobe"
    program.write_text(MODPROBE.format(list=listed, known=" ".join(KNOWN)))
    program.chmod(0o755)
    for module in (kind, modules):
        monkeypatch.setattr(module, "LOADED", str(listed))
    monkeypatch.setitem(kind.ENVIRONMENT, "PATH", f"{tmp_path}:{kind.ENVIRONMENT['PATH']}")
    release = tmp_path / "lib" / os.uname().release
    release.mkdir(parents=True)
    (release / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\nkernel/net/tun-x.ko.xz\n")
    monkeypatch.setattr(modules, "_RELEASES", (str(tmp_path / "none"), str(tmp_path / "lib")))
    monkeypatch.setattr(modules, "_KNOWN", str(tmp_path / "known"))
    monkeypatch.setattr(modules, "effective_capabilities", lambda: 1 << modules._CAP_SYS_MODULE)
    return listed


def loaded(kernel, name="br_netfilter"):
    return f"\n{name} " in f"\n{kernel.read_text()}"


def files():
    return [path.read_text() if path.exists() else None for path in (BOOT, SETTINGS)]


async def converge(name="br_netfilter", *, noop=False, **properties):
    resource = KernelModule(name=name, **properties)
    return await one_shot.converged(resource, noop=noop)


must_change = partial(one_shot.must_change, converge, is_literal=False)
must_fail = partial(one_shot.must_fail, converge)


async def test_it_is_loaded_now_and_at_boot_with_its_parameters(kernel):
    await must_change(options={"a": 1, "b": True, "c": "x,y"})
    assert loaded(kernel)
    assert files() == [f"{HEADER}br_netfilter\n", f"{HEADER}options br_netfilter a=1 b=1 c=x,y\n"]
    await must_change(persist=False)
    assert loaded(kernel)
    assert files() == [None, None]


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_module_keeps_the_contract(promise, kernel):
    for path in (BOOT, SETTINGS):
        path.unlink(missing_ok=True)
    await promise(
        Case(
            make=lambda: KernelModule(name="br_netfilter", options={"a": 1}),
            world=lambda: (loaded(kernel), files()),
            spoil=BOOT.unlink,
        )
    )


async def test_both_spellings_are_one_module(kernel):
    await must_change("br-netfilter")
    assert loaded(kernel)
    assert BOOT.exists()


async def test_it_is_removed_and_forbidden(kernel):
    await must_change()
    await must_change(ensure="absent", blacklist=True)
    assert not loaded(kernel)
    assert files() == [None, f"{HEADER}blacklist br_netfilter\ninstall br_netfilter /bin/false\n"]
    await must_change(ensure="absent")
    assert files() == [None, None]


@pytest.mark.parametrize(
    ("properties", "there", "gone"),
    [
        ({"options": {"a": 1}}, {BOOT, SETTINGS}, set()),
        ({"persist": False}, set(), {BOOT, SETTINGS}),
        ({"ensure": "absent"}, set(), {BOOT, SETTINGS}),
        ({"ensure": "absent", "blacklist": True}, {SETTINGS}, {BOOT}),
    ],
)
def test_the_order_knows_which_files_come_and_go(properties, there, gone):
    relations = KernelModule(name="br_netfilter", **properties).relations()
    assert {BOOT, SETTINGS} & {*map(Path, relations.provides)} == there
    assert {*map(Path, relations.removes)} == gone


async def test_what_is_built_in_counts_as_loaded(kernel):
    await must_change("ext4", options={"x": 1})
    before = kernel.read_text()
    assert await converge("tun-x", persist=False) == (Result.OK, "")
    assert "is built into the kernel" in await must_fail("ext4", ensure="absent")
    assert kernel.read_text() == before


@pytest.mark.parametrize(("is_set", "shown"), [("64", "64"), ("64", "8"), (True, "Y"), (False, "Y")])
async def test_a_parameter_that_is_built_in_and_differs_is_said_to_be_none_for_a_file(
    tmp_path, is_set, shown
):
    parameters = tmp_path / "known/loop/parameters"
    parameters.mkdir(parents=True)
    (parameters / "max_loop").write_text(f"{shown}\n")
    _, story = await converge_once(KernelModule(name="loop", options={"max_loop": is_set}))
    said = ["only on its command line: loop.max_loop=" in event.line for event in story.all(Noted)]
    assert said == [True] * ((is_set, shown) in {("64", "8"), (False, "Y")}), (
        "once, whatever the check reads again"
    )


async def test_what_is_built_in_is_found_without_a_list_of_it(tmp_path):
    """A kernel without loadable modules has none; absent was ok there."""
    (tmp_path / "known/loop/parameters").mkdir(parents=True)
    assert await converge("loop", persist=False) == (Result.OK, "")
    assert "is built into the kernel" in await must_fail("loop", ensure="absent")
    (tmp_path / "known/loop/initstate").write_text("live\n")
    assert await converge("loop", ensure="absent") == (Result.OK, "")


async def test_a_module_that_does_not_exist_is_not_loaded_at_boot(kernel):
    assert "not found in directory" in await must_fail("no_such_module")
    assert os.listdir(BOOT.parent) == []


async def test_a_module_in_use_stays(kernel):
    said = await must_fail("bridge", ensure="absent")
    assert "in use" in said
    assert loaded(kernel, "bridge")


@pytest.mark.parametrize("where", ["no modules", "container", "closed"])
async def test_where_modules_can_not_be_loaded_a_dry_run_says_so(kernel, monkeypatch, where, tmp_path):
    match where:
        case "no modules":
            monkeypatch.setattr(modules, "LOADED", str(tmp_path / "none"))
        case "container":
            monkeypatch.setattr(modules, "effective_capabilities", lambda: 0)
        case "closed":
            (tmp_path / "disabled").write_text("1\n")
            monkeypatch.setattr(modules, "_DISABLED", str(tmp_path / "disabled"))
    result, said = await converge(noop=True)
    assert result is Result.FAILED
    assert {
        "no modules": "has no loadable modules",
        "container": "may not load",
        "closed": "until the next boot",
    }[where] in said
    result, _ = await converge()
    assert result is Result.FAILED
    assert not BOOT.exists()


async def test_files_are_brought_back_at_once(kernel):
    async with running(KernelModule(name="br_netfilter")) as story:
        await story.converged()
        BOOT.unlink()
        await story.until(BOOT.exists)
        kernel.write_text("")
        await story.until(lambda: loaded(kernel))


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"name": "../x"}, "match"),
        ({"name": "x y"}, "match"),
        ({"options": {"a": "b c"}}, "not the value of a parameter"),
        ({"options": {"a": "b\ninstall x /bin/sh"}}, "not the value of a parameter"),
        ({"ensure": "absent", "options": {"a": 1}}, "only valid"),
        ({"blacklist": True}, "can't be both loaded and forbidden"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        KernelModule(**{"name": "x", **properties})


async def test_a_kernel_that_refuses_is_not_asked_again_at_boot(kernel):
    (kernel.parent / "modprobe").write_text("#!/bin/sh\ncase $* in *dry-run*) ;; *) exit 1 ;; esac\n")
    result, _ = await converge()
    assert result is Result.FAILED
    assert not BOOT.exists()


async def test_the_real_list_is_read_where_there_is_one(monkeypatch):
    monkeypatch.setattr(modules, "LOADED", "/proc/modules")
    assert modules.loaded("no_such_module_") is None
    monkeypatch.setattr(modules, "LOADED", "/proc/self")
    with pytest.raises(ResourceError):
        modules.loaded("x")
