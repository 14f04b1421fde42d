from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["quickstart", "webserver"])
def test_an_example_converges_for_whoever_asks_and_stays_converged(reactor, tmp_path, name):
    path = tmp_path / "example" / f"{name}.yaml"
    written = reactor("example", name, path.parent)
    assert f"next:  reactor run --converge-once {path}\n" in written.out
    assert reactor("run", "--converge-once", "--detailed-exitcodes", path).code == 2
    assert reactor("run", "--converge-once", "--detailed-exitcodes", path).code == 0
    assert set(tmp_path.iterdir()) == {path.parent}


def test_a_broken_configuration_of_the_web_server_blocks_the_reload_and_nothing_else(reactor, tmp_path):
    path = tmp_path / "webserver.yaml"
    reactor("example", "webserver", tmp_path)
    path.write_text(path.read_text().replace("port=8080", "port=$("))
    done = reactor("run", "--converge-once", path)
    assert done.code == 1
    assert "exec#reload the server  blocked  by exec#check the configuration\n" in done.out
    assert (tmp_path / "htdocs" / "index.html").exists()
    assert not (tmp_path / "reloads.log").exists()


@pytest.mark.parametrize("name", ["quickstart", "webserver"])
def test_the_examples_are_valid_as_they_stand(reactor, name):
    assert reactor("validate", EXAMPLES / f"{name}.yaml").code == 0


def test_the_broken_example_shows_six_problems(reactor):
    done = reactor("validate", EXAMPLES / "broken.yaml")
    assert done.code == 2
    assert "6 errors in 1 file" in done.err


def test_a_file_of_yours_is_never_overwritten(reactor, tmp_path):
    mine = tmp_path / "quickstart.yaml"
    mine.write_text("mine")
    done = reactor("example", "quickstart", tmp_path)
    assert done.code == 1
    assert "name another directory" in done.err
    assert mine.read_text() == "mine"


def test_writing_the_same_example_again_is_no_error(reactor, tmp_path):
    assert [reactor("example", "quickstart", tmp_path).code for _ in range(2)] == [0, 0]


def test_a_directory_that_would_need_quoting_is_refused(reactor, tmp_path):
    done = reactor("example", "quickstart", tmp_path / "two words")
    assert done.code == 2
    assert not (tmp_path / "two words").exists()
