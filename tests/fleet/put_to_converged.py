"""Measures the time from the write of a channel's state until a real host has converged 21 files.

python tests/fleet/put_to_converged.py --rounds 40
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).parent))

from real_hosts import RealFleet, file

FILES = 21


async def measure(fleet, host, target, rounds):
    """The seconds of each round."""
    took = []
    paths = [target / f"f{number}" for number in range(FILES)]
    async with fleet.operator() as js:
        with host.following():
            await fleet.put(js, "web", "".join(file(path, "begin") for path in paths))
            await host.phase(js, "converged")
            for number in range(rounds):
                content = f"round {number}"
                resources = "".join(file(path, content) for path in paths)
                began = None

                async def point(js, release, point=RealFleet.point):
                    nonlocal began
                    began = trio.current_time()
                    await point(fleet, js, release)

                fleet.point = point
                await fleet.put(js, "web", resources)
                while not all(path.read_text() == content for path in paths):  # noqa: ASYNC110
                    await trio.sleep(0.001)
                took.append(trio.current_time() - began)
                await trio.sleep(0.2)
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        (home / "target").mkdir()
        fleet = RealFleet(home)
        fleet.start()
        try:
            took = trio.run(measure, fleet, fleet.host("web1"), home / "target", rounds)
        finally:
            fleet.fleet_server.server.kill()
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    sys.stdout.write(
        f"put of a channel -> {FILES} files converged, 1 host, {rounds} rounds:\n"
        f"p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms\n"
    )


if __name__ == "__main__":
    main()
