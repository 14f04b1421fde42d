"""The tests of this directory run inside a real systemd: ``pytest`` boots one for them."""

from pathlib import Path

from own_world import use_own_world

HERE = Path(__file__).parent


def pytest_configure(config):
    use_own_world(config, HERE, [HERE / "with-systemd"])
