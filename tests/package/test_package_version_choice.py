"""The table of which version is installed, with no host."""

from __future__ import annotations

import pytest

from reactor.resources.package.catalog import Offer, choose
from reactor.resources.package.dpkg_versions import compare
from reactor.resources.package.planner import Change, Step

OFFERED = Offer("2.0", ("2.0", "1.0"))
KEPT_BACK = Offer(None, ("2.0", "1.0"))
HAS_NO_SUCH_PACKAGE = 'no repository has a package "app"'
HAS_NO_SUCH_VERSION = 'no repository has version 3.0 of package "app"'

TABLE = [
    (None, OFFERED, None, None),
    ("1.0", OFFERED, "1.0", None),
    ("0:1.00", OFFERED, "1.0", None),
    ("3.0", OFFERED, None, HAS_NO_SUCH_VERSION),
    (
        None,
        KEPT_BACK,
        None,
        'the preferences of the package manager keep back every version of package "app"',
    ),
    ("1.0", KEPT_BACK, "1.0", None),
    ("3.0", KEPT_BACK, None, HAS_NO_SUCH_VERSION),
    (None, None, None, HAS_NO_SUCH_PACKAGE),
    ("1.0", None, None, HAS_NO_SUCH_PACKAGE),
]


@pytest.mark.parametrize(("wanted", "offer", "version", "error"), TABLE)
def test_the_table_of_choices(wanted, offer, version, error):
    changes = {"package#app": Change("app", Step.INSTALL, "installed", wanted)}
    chosen, refusals = choose(changes, {} if offer is None else {"app": offer}, compare)
    if error is None:
        assert [change.version for change in chosen.values()] == [version]
        assert refusals == {}
    else:
        assert chosen == {}
        assert [refusal.message for refusal in refusals.values()] == [error]
