"""The cells are asked in a world of their own: a copy of this machine with a real systemd, thrown away at the end."""

from pathlib import Path

from own_world import use_own_world

HERE = Path(__file__).parent


def pytest_configure(config):
    use_own_world(config, HERE, [HERE.parent / "systemd" / "with-systemd"])
