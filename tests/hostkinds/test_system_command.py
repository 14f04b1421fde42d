"""Programs that must succeed, and what they read."""

from __future__ import annotations

import os

import pytest

from reactor.resource.plan import ResourceError
from reactor.resources.process import Command, perform, run


async def test_a_program_reads_its_input_however_long_it_is():
    text = b"0123456789abcdef" * 65536
    completed = await run(Command(["sh", "-c", "wc -c; cat"], "/", {"PATH": "/usr/bin:/bin"}, input=text))
    assert completed.stdout.split() == [str(len(text))]


async def test_without_an_input_there_is_nothing_to_read():
    await perform("sh", "-c", '[ -z "$(cat)" ]')


async def test_one_that_fails_is_an_error_with_its_last_words():
    with pytest.raises(ResourceError, match=r"sh failed with exit code 3\n  because"):
        await perform("sh", "-c", "echo because >&2; exit 3")


async def test_another_user_than_root_is_reported_to_be_root():
    os.seteuid(65534)
    try:
        with pytest.raises(ResourceError) as raised:
            await perform("groupadd", "root")  # which is there: it fails for everybody
    finally:
        os.seteuid(0)
    assert "groupadd failed with exit code" in raised.value.message
    assert raised.value.hint == "run as root"


async def test_the_input_is_shown_nowhere_and_its_descriptor_is_closed():
    await perform("true")  # from the first program on, the mounts are followed
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ResourceError) as raised:
        await perform("false", input=b"secret")
    assert "secret" not in str(raised.value)
    assert "secret" not in repr(Command(["true"], "/", {}, input=b"secret"))
    with pytest.raises(ResourceError, match="there is no executable"):
        await perform("no-such-program", input=b"secret")
    assert len(os.listdir("/proc/self/fd")) <= before, "what others left may be collected meanwhile"
