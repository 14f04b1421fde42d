"""The page of a real run, as a person at a browser sees and uses it."""

import json

import pytest
from live_pages import file, paused, served, vertex, write_manifest
from ports import free_port

from reactor.graph.export.colours import STATES

SLOW = "sleep 1"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A run whose manifest each test writes anew: the manifest and the address of the page."""
    directory = tmp_path_factory.mktemp("site")
    manifest = write_manifest(directory / "site.yaml", exec={"first": {"command": "true"}})
    with served(manifest, "--state-dir", directory / "state") as url:
        yield manifest, url


def test_drift_is_seen_as_it_happens_and_opens_to_its_diff(tab, site, tmp_path):
    manifest, url = site
    path, ref = tmp_path / "app.conf", f"file#{tmp_path}/app.conf"
    restart = {"command": SLOW, "refreshonly": True, "subscribe": ref}
    tab.visit(url)
    write_manifest(manifest, file={path: file("limit: 5\n")}, exec={"restart": restart})
    tab.wait_for_state("exec#restart", "changed")
    tab.wait("document.querySelector('#run-status').innerText === 'converged'")
    watch(tab, ref, "exec#restart")
    path.write_text("limit: 9999\n")
    tab.wait("seen['exec#restart'].includes('running') && seen['exec#restart'].at(-1) === null")
    tab.wait("document.querySelector('#run-status.converged')")

    assert path.read_text() == "limit: 5\n"
    assert tab.evaluate(f"pulsed.has({vertex(ref)})")
    tab.click("#timeline button", "a change on the host")
    tab.wait("document.querySelector('pre.diff')")
    assert tab.text(".diff .removed") == "-limit: 9999"
    assert tab.text(".diff .added") == "+limit: 5"
    assert "something outside of reactor had changed it" in tab.text(".chain")


def watch(tab, *refs):
    """Keep what the page shows of ``refs``, frame by frame."""
    tab.evaluate(
        """(() => {
          window.pulsed = new Set();
          window.seen = Object.fromEntries(REFS.map((ref) => [ref, []]));
          const look = () => {
            for (const [ref, list] of Object.entries(seen)) {
              const { activity } = page.runState.byRef.get(ref).status;
              if (list.at(-1) !== activity) list.push(activity);
            }
            for (const vertex of page.drawing.pulses.keys()) pulsed.add(vertex);
            requestAnimationFrame(look);
          };
          look();
        })()""".replace("REFS", json.dumps(refs))
    )


TROUBLE = {
    "fails": {"command": "false"},
    "waits": {"command": "true", "require": "exec#fails"},
    "last": {"command": "true", "require": "exec#waits"},
    "fine": {"command": "true"},
}


@pytest.fixture(scope="module")
def trouble(tmp_path_factory):
    """A run in which one resource fails and one is blocked: the address of its page, and its state directory."""
    directory = tmp_path_factory.mktemp("trouble")
    manifest = write_manifest(directory / "site.yaml", exec=TROUBLE)
    with served(manifest, "--state-dir", directory / "state") as url:
        yield url, directory / "state"


def test_what_is_blocked_leads_to_what_has_failed(tab, trouble):
    tab.visit(trouble[0])
    tab.counted("failed", 1)
    tab.counted("blocked", 2)
    tab.click(".chip.blocked")
    tab.wait("document.querySelectorAll('#found button').length === 2")
    tab.click("#found button", "exec#waits")
    tab.wait("document.querySelector('#resource .badge.blocked')")
    tab.click("#resource .part-status .links button", "exec#fails")
    tab.wait("document.querySelector('#resource .badge.failed')")
    assert "exit code 1" in tab.text("#resource .error")
    assert tab.text("#run-status") != "converged"


def test_attempts_that_fail_alike_are_one_row_with_their_number(tab, trouble):
    tab.visit(trouble[0])
    tab.wait_for_state("exec#fails", "failed")
    rows = tab.evaluate(
        """(async () => {
          const { mergeFailures, describe } = await import(new URL("page/event_text.js", document.baseURI));
          const check = (ref, result, error) => ({ event: "checked", ref, result, error, causes: ["initial", "retry"], duration: 1 });
          const events = [check("a", "failed", "x"), check("b", "failed", "x"), check("a", "failed", "x"),
            check("a", "failed", "y"), check("b", "ok", null), check("b", "failed", "x")];
          return mergeFailures(events).map(({ event, times }) => [event.ref, describe(event, times).what, describe(event, times).why]);
        })()"""
    )
    why = "first check and retry"
    assert rows == [
        ["b", "failed: x", why], ["a", "failed 2 times: x", ""], ["a", "failed: y", why],
        ["b", "as desired", why], ["b", "failed: x", why],
    ]  # fmt: skip


def test_the_resource_chosen_what_it_blocks_and_what_it_is_listed_with_stay_in_full_colour(tab, trouble):
    lit = "[...page.drawing.highlighted].map(({ ref }) => ref).sort().join(' ')"
    tab.visit(trouble[0])
    tab.wait_for_state("exec#last", "blocked")
    tab.select("exec#fails")
    tab.wait(f"{lit} === 'exec#fails exec#last exec#waits'")
    tab.select("exec#last")
    tab.wait(f"{lit} === 'exec#fails exec#last exec#waits'")


def test_a_box_has_the_colour_of_its_state_and_opens_at_a_click(tab, trouble):
    tab.visit(trouble[0])
    tab.wait_for_state("exec#fails", "failed")
    tab.wait("!page.drawing.frame")
    assert colour_at(tab, "exec#fails") == rgb(STATES["failed"].fill)
    tab.press_at(*tab.spot("exec#fails"))
    tab.wait("document.querySelector('#resource h2')?.innerText.includes('fails')")
    assert tab.evaluate("decodeURIComponent(location.hash)") == "#exec#fails"
    tab.key("Escape")
    tab.wait("document.getElementById('resource').hidden")


def test_a_failure_is_announced_to_those_who_do_not_see_it(tab, trouble):
    tab.visit(trouble[0])
    tab.wait("document.querySelector('[role=alert]#alarm').textContent.includes('exec#fails failed')")


def test_buttons_pause_and_resume_one_resource(tab, trouble):
    url, directory = trouble
    tab.visit(url)
    tab.select("exec#fine")
    tab.click("#resource [name=reason]")
    tab.write("ask Ada")
    tab.evaluate("document.querySelector('#resource [name=for]').value = 'a while'")
    tab.click("#resource form button", "Pause")
    tab.wait("document.querySelector('#resource form .problem').innerText.includes('a while')")

    tab.evaluate("document.querySelector('#resource [name=for]').value = '2h'")
    tab.click("#resource form button", "Pause")
    tab.counted("paused", 1)
    assert paused(directory) == {"exec#fine": "ask Ada"}
    tab.click("#resource form button", "Resume")
    tab.counted("paused", 0)
    assert paused(directory) == {}


def test_everything_can_be_paused(tab, trouble):
    url, directory = trouble
    tab.visit(url)
    tab.click("#pause-all")
    tab.click("dialog [name=reason]")
    tab.write("moving the rack")
    tab.key("Enter")
    tab.counted("paused", 4)
    assert paused(directory) == dict.fromkeys((f"exec#{name}" for name in TROUBLE), "moving the rack")
    tab.click("#pause-all")
    tab.click("dialog button", "Resume all (4 paused)")
    tab.counted("paused", 0)


def test_a_dry_run_has_nothing_to_pause(tab, tmp_path):
    manifest = write_manifest(tmp_path / "site.yaml", file={tmp_path / "new": file("x")})
    with served(manifest, "--noop") as url:
        tab.visit(url)
        tab.counted("would-change", 1)
        tab.select(f"file#{tmp_path}/new")
        tab.wait("document.querySelector('#resource dl')")
        assert (
            tab.evaluate("document.querySelectorAll('#pause-all:not([hidden]), #resource form').length") == 0
        )


def as_desired(path):
    """A file that is ``file("x")`` already: its first check finds it ``ok``."""
    path.write_text("x")
    path.chmod(0o644)
    return path


def test_a_new_generation_keeps_what_is_selected_and_in_view(tab, site, tmp_path):
    manifest, url = site
    stays, leaves, comes = (as_desired(tmp_path / name) for name in ("stays", "leaves", "comes"))
    tab.visit(url)
    write_manifest(manifest, file={stays: file("x"), leaves: file("x")})
    tab.wait_for_state(f"file#{stays}", "ok")
    tab.select(f"file#{stays}")
    tab.wait("!page.view.glide")
    tab.evaluate("page.view.zoom(0.75)")
    before = tab.evaluate("[page.view.x, page.view.y, page.view.scale]")
    write_manifest(manifest, file={stays: file("x"), comes: file("x")})
    tab.wait_for_state(f"file#{comes}", "ok")

    assert tab.evaluate(vertex(f"file#{leaves}")) is None
    assert tab.evaluate("page.drawing.selected.ref") == f"file#{stays}"
    assert tab.evaluate("[page.view.x, page.view.y, page.view.scale]") == before
    tab.wait("document.getElementById('timeline').innerText.includes('manifest reloaded')")


def test_a_manifest_that_cannot_be_used_is_reported_on_top(tab, site, tmp_path):
    manifest, url = site
    tab.visit(url)
    write_manifest(manifest, file={tmp_path / "a": file("x", colour="red")})
    tab.wait("document.getElementById('notice').innerText.includes('colour')")
    write_manifest(manifest, file={tmp_path / "a": file("y")})
    tab.wait("document.getElementById('notice').hidden")


def test_the_page_finds_its_server_again(tab, tmp_path):
    first, second, port = tmp_path / "first", as_desired(tmp_path / "second"), free_port()
    manifest = write_manifest(tmp_path / "site.yaml", file={first: file("x")})
    with served(manifest, port=port) as url:
        tab.visit(url)
    tab.wait("document.querySelector('#connection.lost')?.innerText === 'reconnecting…'")
    write_manifest(manifest, file={first: file("x"), second: file("x")})
    with served(manifest, port=port):
        tab.wait("document.querySelector('#connection.live')")
        tab.wait_for_state(f"file#{second}", "ok")
        first.unlink()
        tab.wait("document.getElementById('timeline').innerText.includes('a change on the host')")
        assert first.exists()


def rgb(colour):
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def colour_at(tab, ref):
    """The colour in which a box is filled on the canvas, near its lower left corner."""
    return tab.evaluate(
        f"(() => {{ const v = {vertex(ref)};"
        " const [x, y] = page.view.toScreen(v.x + 8, v.y + v.height - 4);"
        " return [...document.getElementById('boxes').getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3); })()"
    )
