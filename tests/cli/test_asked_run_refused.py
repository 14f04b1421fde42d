"""One-shot runs that an active run does not answer, because a run of their own could have another result."""

from __future__ import annotations

import json
import os
import sys

import pytest
from asked_worlds import IN_ORDER, TWO, AskedWorld
from processes_of_cli import finish, spawned, up_to

from reactor.cli.asking import _COMPARED, request_of
from reactor.cli.commands.run import run
from reactor.cli.running.answering import same_files
from reactor.control.full_checks import REQUEST_FORM
from reactor.control.requests import BadRequestError, require_form


def differing(world, *args, manifest=None, **variables):
    words = ("run", "--converge-once", *args, manifest or world.manifest)
    with spawned(*words, env=world.environment(**variables)) as process:
        done = finish(process)
    assert done.code == 1, done
    assert "error[R0601]: process " in done.err
    assert done.out == ""
    return done.err.partition("because these differ: ")[2].strip()


def test_another_input_is_refused_and_named(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    other = world.directory / "other.yaml"
    other.write_text(world.manifest.read_text())
    with world.active():
        assert differing(world, "--fact", "a=b") == "--fact"
        assert differing(world, "--data", "a=b", "--only", "file#*/a") == "--data, --only"
        assert differing(world, manifest=other) == "MANIFEST"
        assert differing(world, "--no-read-env") == "--no-read-env"
        assert differing(world, HTTP_PROXY="http://127.0.0.1:1") == "$HTTP_PROXY"
        assert differing(world, TZ="Asia/Tokyo") == "$TZ"
        assert differing(world, CCM_HIERA_DATA=str(other)) == "--hiera"


def test_every_option_that_decides_the_result_of_a_one_shot_run_is_compared():
    in_the_request = {"manifests", "read_env", "form", "diff", "detailed_exitcodes"}
    never_asks = {"noop", "monitor_only", "converged_timeout", "render"}
    of_a_continuous_run = {"health_interval", "ui", "metrics", "metrics_token_file", "metrics_compat"}
    decide_nothing = {"converge_once", "state_dir", "jobs"}
    others = in_the_request | never_asks | of_a_continuous_run | decide_nothing
    assert {each.name for each in run.params} - _COMPARED.keys() == others


def test_the_same_inputs_are_accepted_in_any_form(tmp_path, monkeypatch):
    world = AskedWorld(tmp_path / "asked", TWO)
    monkeypatch.chdir(world.directory)
    with world.active("--fact", "a=b", "--jobs", "3"):
        with spawned(*world.words("--fact=a=b")[:-1], "site.yaml", env=world.environment()) as process:
            assert finish(process).code == 0
        assert differing(world) == "--fact"


def test_a_request_that_lacks_something_is_refused_in_words_before_anything_is_checked():
    request = json.loads(json.dumps(request_of(("site.yaml",), {})))
    require_form(request, REQUEST_FORM)
    for key in REQUEST_FORM:
        for wrong in ({name: part for name, part in request.items() if name != key}, {**request, key: 5.5}):
            with pytest.raises(BadRequestError, match=f"'{key}' is missing or invalid"):
                require_form(wrong, REQUEST_FORM)
    for wrong in ({"mounts": [["8:1", "/"]]}, {"mounts": [["8:1", "/", 5]]}, {"stdout": {"width": 80}}):
        with pytest.raises(BadRequestError, match="is missing or invalid"):
            require_form({**request, **wrong}, REQUEST_FORM)


def test_a_variable_that_is_not_utf8_is_a_variable_like_others(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        assert world.once(ODD=os.fsdecode(b"\xff\xfe"))[0] == 0


def test_a_command_of_a_check_can_not_ask_for_that_check(tmp_path):
    """They would wait for each other."""
    world = AskedWorld(tmp_path / "asked", "")
    inner = f"{sys.executable} -m reactor run --converge-once --state-dir {world.state} {world.manifest}"
    ask = f"test ! -e {{dir}}/go || {inner} > {{dir}}/said 2>&1"
    world.write(f"{IN_ORDER}  - exec:\n      - inner: {{provider: shell, command: '{ask}'}}\n")
    with world.active(PYTHONPATH=os.pathsep.join(sys.path)):
        (world.directory / "go").touch()
        assert world.once(PYTHONPATH=os.pathsep.join(sys.path))[0] == 1
    said = (world.directory / "said").read_text()
    assert "error[R0601]" in said
    assert "because it waits for this command, which one of its checks has started" in said


def test_only_variables_that_are_read_must_be_the_same(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO.replace("two", '"{{ Environ.COLOUR }}"'))
    with world.active(COLOUR="red"):
        assert world.once(COLOUR="red", SHAPE="round")[0] == 0
        assert differing(world, COLOUR="blue") == "$COLOUR"
    assert (world.directory / "b").read_text() == "red"


@pytest.mark.parametrize(
    ("engine", "text"),
    [("jinja", "{{ Environ.COLOUR }}"), ("jet", "[[ Environ.COLOUR ]]"), ("go", "{{ .Environ.COLOUR }}")],
)
def test_what_templates_read_must_be_the_same(tmp_path, engine, text):
    world = AskedWorld(
        tmp_path / "asked", TWO.replace("content: two", f"template: {{dir}}/t, engine: {engine}")
    )
    (world.directory / "t").write_text(text)
    with world.active(COLOUR="red"):
        assert (world.directory / "b").read_text().strip() == "red"
        assert world.once(COLOUR="red", SHAPE="round")[0] == 0
        assert differing(world, COLOUR="blue") == "$COLOUR"


def test_a_variable_that_only_the_new_version_reads_counts(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        world.write(TWO.replace("two", '"{{ Environ.COLOUR ?? "none" }}"'.replace('"none"', "'none'")))
        assert differing(world, COLOUR="blue") == "$COLOUR"


def test_a_file_env_is_refused(tmp_path, monkeypatch):
    world = AskedWorld(tmp_path / "asked", TWO)
    with world.active():
        monkeypatch.chdir(world.directory)
        (world.directory / ".env").write_text("A=1\n")
        assert "the file .env" in differing(world)


def test_a_manifest_that_only_one_process_can_read_is_refused(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    pipe = world.directory / "pipe.yaml"
    os.mkfifo(pipe)
    ending = (
        "-c",
        "import sys; from reactor.cli.asking import request_of; sys.exit(request_of((sys.argv[1],), {}) is not None)",
    )
    with spawned(pipe, program=ending) as process:
        assert finish(process).code == 0


def test_a_path_that_leads_each_process_to_another_file_is_refused(tmp_path):
    world = AskedWorld(tmp_path / "asked", TWO)
    link = world.directory / "link.yaml"
    link.symlink_to("/dev/stdin")
    with world.manifest.open() as first, (world.directory / "other.yaml").open("w+") as second:
        second.write(world.manifest.read_text())
        second.seek(0)
        words = ("run", "--converge-once", link)
        with spawned("run", "--format", "json", link, stdin=first, env=world.environment()) as active:
            up_to(active, "converged")
            with spawned(*words, stdin=second, env=world.environment()) as process:
                assert "the files that the paths lead to" in finish(process).err


HOST = [["8:1", "/", "/"], ["0:5", "/", "/proc"], ["8:2", "/", "/srv"]]


@pytest.mark.parametrize(
    ("more", "is_same"),
    [
        ([], True),
        (
            [
                ["8:1", "/", "/"],
                ["8:1", "/usr", "/usr"],
                ["8:2", "/data", "/srv/data"],
                ["0:7", "/sys", "/proc/sys"],
            ],
            True,
        ),
        (
            [
                ["0:9", "/systemd/inaccessible/dir", "/usr/lib/modules"],
                ["0:9", "/x", "/run/systemd/incoming"],
            ],
            True,
        ),
        ([["0:40", "/", "/tmp"]], False),
        ([["8:1", "/tmp/private", "/tmp"]], False),
        ([["8:3", "/", "/srv"]], False),
    ],
)
def test_a_sandbox_that_only_closes_parts_shows_the_same_files(more, is_same):
    assert same_files(HOST, HOST + more) is is_same
    assert same_files(HOST + more, HOST) is is_same
