"""What the journal knows of a resource whose property has got another value while the run went on."""

from journal_worlds import journal_in

from reactor.engine.events import Cause, Result
from reactor.loading import load
from reactor.testing.story import converge_once, running

MANIFEST = """
resources:
  - file:
      - {dir}/a: { ensure: present, source: {dir}/source, {own} }
      - {dir}/b: { ensure: present, content: "${ output('file#{dir}/a').checksum }", {own} }
"""


def changes(story, ref):
    return [each for each in story.checks(ref) if each.result is Result.CHANGED]


async def test_damage_after_the_end_of_a_run_is_drift_although_a_value_was_new_in_it(
    in_memory, tmp_path, manifest
):
    """In memory, a run does not check what it wrote once more."""
    b = in_memory / "b"
    (in_memory / "source").write_text("one")
    path = str(manifest(MANIFEST.replace("{dir}", str(in_memory))))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    with journal_in(state) as journal:
        async with running(graph=load(path).graph, run_store=journal) as story:
            await story.converged()
            (in_memory / "source").write_text("two")
            await story.until(lambda: len(changes(story, f"file#{b}")) == 2)
        b.write_text("foreign")
        _, story = await converge_once(graph=load(path).graph, run_store=journal)
    [change] = changes(story, f"file#{b}")
    assert change.causes is Cause.DRIFT
