"""What apt and dnf say of a transaction, read; and the words for it."""

from __future__ import annotations

from reactor.resources.package import dpkg_versions
from reactor.resources.package.apt_answers import parse_search, parse_simulation
from reactor.resources.package.dnf_answers import parse_transaction
from reactor.resources.package.transaction import Others, beginning, others_between

APT = """\
NOTE: This is only a simulation!
Remv dependent [1.0]
Inst libfoo:i386 (1.2-3 Debian:12.5/stable [i386])
Inst app [1.0-1] (2.0-1 localhost [all]) []
Inst base [2.0-1] (1.0-1 localhost [all])
Inst again [1.0] (1.0 localhost [all])
Inst asked (1.0 localhost [all])
Conf app (2.0-1 localhost [all])
Purg gone [3]
"""

DNF = """\
Last metadata expiration check: 0:00:01 ago on Sun Nov 22 21:00:00 2026.
Dependencies resolved.
================================================================================
 Package                Arch     Version                        Repository Size
================================================================================
Installing:
 asked                  noarch   1.0-1                          tiny      6.0 k
     replacing  obsolete.noarch 1.0-1
Upgrading:
 app                    noarch   1:2.1~rc1-1                    tiny      6.0 k
Downgrading:
 base                   x86_64   1.0-1                          tiny       12 M
Installing dependencies:
 a-name-that-is-longer-than-its-column-is-wide
                        noarch   0:1.0-1.20261122.git0123456789abcdef
                                                                tiny      6.0 k
Removing dependent packages:
 dependent              noarch   1.0-1                          @tiny     0

Transaction Summary
================================================================================
Install  2 Packages
Operation aborted.
"""


def test_the_simulation_of_apt_is_read():
    assert parse_simulation(APT, ["asked"], dpkg_versions.compare) == Others(
        installed=("libfoo:i386 1.2-3",),
        upgraded=("app from 1.0-1 to 2.0-1",),
        downgraded=("base from 2.0-1 to 1.0-1",),
        removed=("dependent", "gone"),
    )


def test_the_table_of_dnf_is_read_also_where_it_is_wrapped():
    before = {"app": frozenset({"1:1.0-1"}), "base": frozenset({"2.0-1"})}
    assert parse_transaction(DNF, ["asked"], before) == Others(
        installed=("a-name-that-is-longer-than-its-column-is-wide 1.0-1.20261122.git0123456789abcdef",),
        upgraded=("app from 1:1.0-1 to 1:2.1~rc1-1",),
        downgraded=("base from 2.0-1 to 1.0-1",),
        removed=("dependent", "obsolete"),
    )


def test_the_owners_of_files_are_read():
    text = """\
python3.11-minimal: /usr/bin/python3.11
libc6:amd64, libc6:i386: /lib/ld.so
diversion by dash from: /bin/sh
diversion by dash to: /bin/sh.distrib
dpkg-query: no path found matching pattern /opt/x
"""
    assert parse_search(text) == {"python3.11-minimal", "libc6"}


def test_what_has_changed_is_reported_by_name_and_version():
    before = {
        name: frozenset(versions)
        for name, versions in {"a": "1", "b": "1", "c": "2", "k": "12", "x": "1"}.items()
    }
    after = {
        name: frozenset(versions)
        for name, versions in {"a": "1", "c": "1", "d": "1", "k": "23", "x": "9"}.items()
    }
    others = others_between(before, after, {"x"}, dpkg_versions.compare)
    assert others == Others(("d 1", "k 3"), (), ("c from 2 to 1",), ("b", "k 1"))
    assert (
        others.description("also")
        == "; also removed b and k 1, installed d 1 and k 3, downgraded c from 2 to 1"
    )


def test_the_companions_in_a_transaction_are_named_or_counted():
    assert beginning([], would=True) == "would also have"
    assert beginning(["a"], would=False) == "one transaction with a also"
    assert beginning(["a", "b"], would=True) == "one transaction with 2 other packages would also have"
