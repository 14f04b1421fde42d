"""Tests of manifests: facts and data in, expected resources and problems out.

`suite` reads a file of tests, and `checking` runs one test: it loads the manifest with the facts and data of the test,
and compares. Nothing is read of the host, and nothing is changed.
"""

from reactor.manifest_tests.checking import check
from reactor.manifest_tests.suite import Suite, Test, read_suite

__all__ = ["Suite", "Test", "check", "read_suite"]
