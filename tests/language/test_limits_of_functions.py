"""What functions of expressions refuse: a file that is too large, and arguments they have no use for."""

import os

import pytest

from reactor.loading import load
from reactor.resource.diagnostic import ManifestError


@pytest.fixture
def said(tmp_path):
    """What is wrong with a manifest that has the expression in its data."""

    def of(source):
        path = tmp_path / "m.yaml"
        path.write_text(f"resources:\n  - exec: [{{x: {{command: '/bin/echo ${{ {source} }}'}}}}]\n")
        with pytest.raises(ManifestError) as caught:
            load(str(path))
        return caught.value.diagnostics[0].message

    return of


def test_a_file_of_more_than_16_mib_is_not_read(said, tmp_path):
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 16 * 2**20 + 1)
    assert said('file("large")') == 'failed to read file "large": it is larger than 16 MiB'


@pytest.mark.parametrize("arguments", ['"a"', '"a", "b", "c"', '"a", 1'])
def test_a_function_of_the_network_reports_which_arguments_it_takes(said, arguments):
    assert said(f"kvGet({arguments})") == "kvGet requires 2 string arguments: bucket, key"


def test_without_a_network_no_one_knows_who_is_registered_or_what_a_key_holds(said):
    assert said('kvGet("a", "b")') == "kvGet: no key-value store is configured"
    assert said('registrations("a", "b", "c", "d")').startswith("registrations: no network is configured")


def test_a_template_that_uses_itself_without_end_is_refused(said, tmp_path):
    (tmp_path / "t.templ").write_text("${{ template('t.templ') }}")
    assert "templates use each other more than 10 deep" in said('template("t.templ")')


@pytest.mark.parametrize(("depth", "is_refused"), [(10, False), (11, True)])
def test_templates_may_use_each_other_ten_deep(said, tmp_path, depth, is_refused):
    for number in range(1, depth):
        (tmp_path / f"{number}.templ").write_text(f"${{{{ template('{number + 1}.templ') }}}}")
    (tmp_path / f"{depth}.templ").write_text("end")
    assert ("more than 10 deep" in said('template("1.templ") - 1')) is is_refused


@pytest.mark.parametrize(
    ("name", "reason"),
    [("directory", "not a regular file"), ("bytes", "it is not UTF-8 text")],
)
def test_what_is_no_text_file_is_not_read(said, tmp_path, name, reason):
    (tmp_path / "directory").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert said(f'file("{name}")').endswith(f": {reason}")


@pytest.mark.parametrize("size", [16 * 2**20, 16 * 2**20 - 1])
def test_a_file_of_16_mib_is_read(said, tmp_path, size):
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", size)
    assert "nil" in said('len(file("large")) > 0 ? nil : 0')
