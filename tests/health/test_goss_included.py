"""Rules that stand in other files."""

import pytest
from health_worlds import holds

from reactor.resource.health import HealthCheck, find_runner
from reactor.resource.plan import ResourceError


async def test_the_rules_of_other_files_count_too(tmp_path):
    inner = tmp_path / "more"
    inner.mkdir()
    (tmp_path / "main.yaml").write_text("file: {/: {exists: true}}\ngossfile: {more/*.yaml: {}}\n")
    (inner / "a.yaml").write_text(f"file: {{{tmp_path}/wanted: {{exists: true}}}}\n")
    (inner / "b.yaml").write_text("")
    rules = {"gossfile": {f"{tmp_path}/main.yaml": {}}}
    assert not await holds(rules)
    (tmp_path / "wanted").touch()
    assert await holds(rules)


async def test_a_file_may_be_named_apart_from_the_key_and_be_skipped(tmp_path):
    (tmp_path / "a.yaml").write_text("file: {/nowhere: {exists: true}}\n")
    assert not await holds({"gossfile": {"mine": {"file": f"{tmp_path}/a.yaml"}}})
    assert await holds({"gossfile": {"mine": {"file": f"{tmp_path}/a.yaml", "skip": True}}})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no gossfile"),
        ("file: [", "can't be read"),
        ("fiel: {}", "can't be used: fiel: "),
        ("- a", "can't be used"),
        ("gossfile: {main.yaml: {}}", "includes itself"),
    ],
)
async def test_a_file_that_can_not_be_used_is_no_answer(tmp_path, text, problem):
    path = tmp_path / "main.yaml"
    if text is not None:
        path.write_text(text)
    check = HealthCheck(goss_rules={"gossfile": {str(path): {}}})
    with pytest.raises(ResourceError, match=problem):
        await find_runner("goss_rules").examine(check.goss_rules)
