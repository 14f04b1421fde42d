"""These tests change which authorities the host trusts: they run in a mount namespace with a store of its own."""

from pathlib import Path

from own_world import use_own_world

HERE = Path(__file__).parent


def pytest_configure(config):
    use_own_world(config, HERE, ["unshare", "--mount", "--propagation", "private"])
