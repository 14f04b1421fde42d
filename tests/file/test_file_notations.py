"""The notations of setfacl(1), setcap(8) and setfattr(1): what they mean, and the texts that the kernel's values have."""

import os
import shutil
import struct
import subprocess

import pytest
from file_worlds import converge, look, make, mode_of

from reactor.hostfs import read_extended
from reactor.resources.file import acl, capabilities
from reactor.resources.file.extended import accounts_in, extended_properties, text_of, value_of

ACCESS, DEFAULT, CAPABILITY = acl.ACCESS, acl.DEFAULT, capabilities.ATTRIBUTE


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("user:7:rwx", "u:7:7"),
        ("group:7:r-x", "g:7:rx"),
        ("mask::rw", "m:rw"),
        ("m::r--", "m:4"),
        ("default:user::rw", "d:u::6"),
        ("default:group::w", "d:g::-w-"),
        ("d:other:x", "d:o::1"),
        (" u:7:--- ", "u:7:0"),
    ],
)
def test_an_entry_may_be_written_in_long_and_in_short(text, same):
    assert acl.parse_entry(text) == acl.parse_entry(same)


@pytest.mark.parametrize(
    "text", ["", "u", "u:7", "u:7:r:w", "d:u:7", "x:7:r", "u:7:", "u:7:8", "u:7:10", "d:u:7:r:w", "m::rx:"]
)
def test_an_entry_of_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r"is not an entry of an ACL|the permissions must be letters"):
        acl.parse_entry(text)


def test_only_an_entry_of_the_same_list_tag_and_name_is_there_twice():
    acl.parse_acl(["u:7:r", "g:7:r", "u:8:r", "d:u:7:r", "m::r"])
    with pytest.raises(ValueError, match="u:7:-w- is there twice"):
        acl.parse_acl(["u:7:r", "user:7:w"])


def test_the_texts_of_entries_are_those_that_are_parsed():
    texts = ["u:7:rwx", "g:8:-w-", "m::--x", "d:u::r--", "d:g:9:---", "d:o::r-x"]
    assert [str(entry) for entry in acl.parse_acl(texts)] == texts


def test_an_acl_names_the_accounts_on_which_it_depends():
    found = list(accounts_in(["u:alice:r", "d:g:web:rx", "m::rx", "u:root:r"]))
    assert found == ["user#alice", "group#web"]


def whole(path):
    """All entries of both lists, as the kernel has them."""
    return [
        *acl.texts_of(read_extended(str(path), [ACCESS])[ACCESS], is_default=False, is_whole=True),
        *acl.texts_of(read_extended(str(path), [DEFAULT])[DEFAULT], is_default=True),
    ]


@pytest.mark.parametrize(
    ("mode", "entries", "expected", "shown"),
    [
        ("0641", ["u:7:rwx"], ["u::rw-", "u:7:rwx", "g::r--", "m::rwx", "o::--x"], 0o671),
        ("0641", ["g:7:w"], ["u::rw-", "g::r--", "g:7:-w-", "m::rw-", "o::--x"], 0o661),
        ("0640", ["u:7:w", "m::r"], ["u::rw-", "u:7:-w-", "g::r--", "m::r--", "o::---"], 0o640),
        ("0604", ["m::x"], ["u::rw-", "g::---", "m::--x", "o::r--"], 0o614),
        ("0600", ["u:9:r", "u:8:r"], ["u::rw-", "u:8:r--", "u:9:r--", "g::---", "m::r--", "o::---"], 0o640),
    ],
)
async def test_what_an_acl_does_not_name_follows_from_the_mode(tmp_path, mode, entries, expected, shown):
    path = tmp_path / "f"
    await converge(make(path, content="x", mode=mode, acl=entries))
    assert whole(path) == expected
    assert mode_of(path) == shown


async def test_a_default_list_has_an_owner_a_group_and_others_of_its_own(tmp_path):
    path = tmp_path / "d"
    await converge(make(path, ensure="directory", mode="0751", acl=["d:u:7:w", "d:o::r", "u:8:x"]))
    assert whole(path) == [
        *["u::rwx", "u:8:--x", "g::r-x", "m::r-x", "o::--x"],
        *["d:u::rwx", "d:u:7:-w-", "d:g::r-x", "d:m::rwx", "d:o::r--"],
    ]


async def test_a_list_in_another_order_is_as_desired(tmp_path):
    path = tmp_path / "f"
    resource = {"content": "x", "mode": "0600", "acl": ["u:7:r", "u:8:w"]}
    await converge(make(path, **resource))
    data = os.getxattr(path, ACCESS)
    head, entries = data[:4], [data[at : at + 8] for at in range(4, len(data), 8)]
    entries[1], entries[2] = entries[2], entries[1]
    os.setxattr(path, ACCESS, head + b"".join(entries))
    assert os.getxattr(path, ACCESS) != data
    assert await look(make(path, **resource)) == ()


@pytest.mark.parametrize("data", [None, b"", b"\x02\0\0", b"\x02\0\0\0\x01"])
def test_a_list_that_is_none_or_cut_off_is_compared_as_it_is(data):
    assert acl.normal(data) == data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cap_chown=p", "cap_chown=p"),
        ("cap_chown,cap_kill=i", "cap_chown,cap_kill=i"),
        ("cap_bpf,cap_chown,cap_sys_rawio=ep", "cap_chown,cap_sys_rawio,cap_bpf=ep"),
        ("cap_checkpoint_restore=ip", "cap_checkpoint_restore=ip"),
        ("cap_perfmon=i", "cap_perfmon=i"),
        ("cap_chown=ip cap_kill=p cap_bpf=i", "cap_chown=ip cap_kill=p cap_bpf=i"),
        ("cap_chown=eip", "cap_chown=eip"),
        ("cap_chown=p cap_chown+i", "cap_chown=ip"),
        ("cap_chown=ip cap_chown=p", "cap_chown=p"),
        ("cap_chown,cap_kill=p cap_chown=", "cap_kill=p"),
        ("cap_chown+p cap_chown+e", "cap_chown=ep"),
        ("CAP_CHOWN=P", "cap_chown=p"),
    ],
)
def test_clauses_add_to_the_sets_and_replace_them(text, shown):
    assert capabilities.decode(capabilities.encode(text)) == shown


def test_no_name_and_all_are_every_capability():
    every = f"{','.join(capabilities._NUMBERS)}=p"
    assert len(capabilities._NUMBERS) == 41
    for text in ("=p", "all=p"):
        assert capabilities.decode(capabilities.encode(text)) == every
    assert capabilities.decode(capabilities.encode("all=p cap_kill=")) == every.replace("cap_kill,", "")


@pytest.mark.parametrize("text", ["", "cap_chown=", "cap_chown=p cap_chown=", "=p ="])
def test_no_capability_is_no_attribute(text):
    assert capabilities.encode(text) is None


@pytest.mark.parametrize("text", ["cap_chown=ep cap_kill=p", "cap_chown=e", "cap_chown=ep cap_kill=e"])
def test_a_file_can_not_have_some_of_its_capabilities_effective(text):
    with pytest.raises(ValueError, match="one flag e"):
        capabilities.encode(text)


@pytest.mark.parametrize("text", ["all=ep", "cap_bpf,cap_chown+i", "cap_audit_read=p", "cap_net_raw=eip"])
def test_getcap_reads_in_the_kernel_what_was_written(tmp_path, text):
    if (getcap := shutil.which("getcap", path="/sbin:/usr/sbin:/bin:/usr/bin")) is None:
        pytest.skip("there is no getcap")
    (tmp_path / "f").write_text("x")
    os.setxattr(tmp_path / "f", CAPABILITY, capabilities.encode(text) or b"")
    said = subprocess.run([getcap, tmp_path / "f"], capture_output=True, text=True, check=True).stdout
    found = capabilities.encode(said.split(maxsplit=1)[1].replace("= ", ""))
    assert found == capabilities.encode(text)


@pytest.mark.parametrize("flag", [0, 1])
def test_capabilities_are_compared_whatever_revision_the_kernel_shows(flag):
    words = (1, 2, 3, 4)
    second = struct.pack("<IIIII", 0x02000000 | flag, *words)
    third = struct.pack("<IIIIII", 0x03000000 | flag, *words, 1000)
    assert capabilities.normal(third) == second == capabilities.normal(second)
    assert capabilities.normal(b"short") == b"short"
    assert capabilities.normal(None) is None


def test_an_attribute_of_another_format_is_shown_in_hex():
    assert capabilities.decode(b"\x01\xff") == "0x01ff"
    assert capabilities.decode(None) == ""


@pytest.mark.parametrize(
    "value", [b"text", b"", b"\xff\x00", b"two\nlines", b"0x12", b"0Sabc", b"0s", "ä".encode()]
)
def test_the_text_of_a_value_is_read_as_the_same_value(value):
    assert value_of(text_of(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x00fF", b"\0\xff"),
        ("0X10", b"\x10"),
        ("0saGk=", b"hi"),
        ("0SaGk=", b"hi"),
        ("x0x1", b"x0x1"),
        ("0", b"0"),
    ],
)
def test_a_value_is_text_hex_or_base64(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize("text", ["0xq", "0x1", "0s=", "0s!!", "0saG k="])
def test_a_value_that_is_no_hex_and_no_base64_is_refused(text):
    with pytest.raises(ValueError, match="hexadecimal digits must follow 0x, and base64 must follow 0s"):
        value_of(text)


async def test_the_properties_that_are_shown_of_a_file_make_it_again(tmp_path):
    wanted = {"acl": ["u:7:r--", "m::rw-"], "capabilities": "cap_net_raw=ep"}
    await converge(make(tmp_path / "f", content="x", mode="0755", **wanted))
    assert extended_properties(str(tmp_path / "f")) == wanted
    assert extended_properties(str(tmp_path)) == {}
