"""Two thousand resources on one page."""

import threading
from itertools import cycle

import pytest
from live_pages import file, served, write_manifest
from turns import turns

FILES = 2000
PER_SECOND = 200
BOUND = 100.0
"""Milliseconds that a frame in the middle may take, drawn by the processor alone while all else runs there too."""

FRAMES = """(async () => {
  const stage = document.getElementById("stage");
  const { left, top } = stage.getBoundingClientRect();
  const send = (event) => stage.dispatchEvent(event);
  const key = (key) => send(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const wheel = (deltaY) => {
    const [x, y] = page.view.toScreen(page.runState.vertices[1000].x, page.runState.vertices[1000].y);
    const place = { clientX: left + x, clientY: top + y, bubbles: true, cancelable: true };
    send(new WheelEvent("wheel", { deltaY, ...place }));
  };
  const took = [];
  let lights = 0;
  const pulse = page.drawing.pulse;
  page.drawing.pulse = (...given) => { lights += 1; pulse.apply(page.drawing, given); };
  let last = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < 200; frame++) {
    if (frame < 40) key(frame % 20 < 10 ? "ArrowLeft" : "ArrowRight");
    else if (frame < 160) wheel(frame < 100 ? -30 : 30);
    const now = await new Promise(requestAnimationFrame);
    took.push(now - last);
    last = now;
  }
  return { took: took.sort((a, b) => a - b), lights };
})()"""
"""Moves and zooms, and tells how long each frame took, in milliseconds, and how often a box lit up meanwhile."""


@pytest.fixture
def drifting():
    """Calls a function with one of many things after the other, so many times a second, until the test ends."""
    over = threading.Event()
    threads = []

    def start(drift, things):
        def work():
            turn = cycle(things)
            while not over.wait(1 / PER_SECOND):
                drift(next(turn))

        threads.append(threading.Thread(target=work))
        threads[0].start()

    yield start
    over.set()
    for thread in threads:
        thread.join()


def test_two_thousand_resources_stay_usable_while_they_change(tab, tmp_path, drifting):
    """200 of them drift and are repaired each second, while a person pans and zooms."""
    (tmp_path / "files").mkdir()
    paths = [tmp_path / "files" / f"{number:04}.conf" for number in range(FILES)]
    for path in paths:
        path.write_text("as desired\n")
    chains = {
        path: file("as desired\n", **({"subscribe": f"file#{paths[number - 40]}"} if number >= 40 else {}))
        for number, path in enumerate(paths)
    }
    manifest = write_manifest(tmp_path / "site.yaml", file=chains)
    with served(manifest) as url:
        tab.visit(url)
        tab.counted("ok", f"{FILES:,}")
        tab.click("#unfold")
        tab.wait(f"page.runState.boxes.length === {FILES} && !page.view.glide")
        drifting(lambda path: path.write_text("drifted\n"), paths)
        tab.wait("page.drawing.pulses.size > 20")
        for turn in turns(BOUND / 1000):
            measured = tab.evaluate(FRAMES)
            frames = measured["took"]
            assert measured["lights"] > len(frames) / 4
            turn.seconds = frames[len(frames) // 2] / 1000
        assert tab.evaluate("document.querySelectorAll('#timeline li').length") < 60
