"""What templates of a manifest miss: an error in the native form, a warning in the ``ccm:`` form."""

from textwrap import indent

import pytest

BODY = """  - scaffold:
      - {dir}/target:
          source: {dir}/templates
          ensure: present
          engine: ENGINE
          left_delimiter: "[["
          right_delimiter: "]]"
"""


@pytest.mark.parametrize(
    ("engine", "texts"),
    [
        ("go", ("port [[ .Data.prot ]]\n", "port <no value>\n")),
        ("jet", ("port [[ Data.prot ]]\n", "port \n")),
    ],
)
def test_a_scaffold_writes_no_file_with_a_hole_in_it(engine, texts, manifest, reactor, tmp_path):
    source, text = texts
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "app.conf").write_text(source)
    body = BODY.replace("ENGINE", engine)
    native = manifest(f"data: {{port: 80}}\nresources:\n{body}", name="native.yaml")
    done = reactor("run", "--converge-once", native)
    assert done.code != 0
    assert "templates/app.conf:1:" in done.out + done.err
    assert "did you mean port?" in done.out + done.err
    assert not (tmp_path / "target" / "app.conf").exists()

    of_ccm = manifest(f"data: {{port: 80}}\nccm:\n  resources:\n{indent(body, '  ')}", name="ccm.yaml")
    done = reactor("run", "--converge-once", of_ccm)
    assert done.code == 0
    assert (tmp_path / "target" / "app.conf").read_text() == text
    assert "app.conf:1:" in done.out + done.err
    assert "there is no key 'prot', so nothing is written, as in CCM" in done.out + done.err


def test_a_list_of_resources_with_a_hole_in_it_is_reported(manifest, reactor, tmp_path):
    (tmp_path / "list.jet").write_text("- exec:\n    - /bin/echo x[[ Data.prot ]]: {logoutput: true}\n")
    done = reactor(
        "run", "--converge-once", manifest("data: {port: 80}\nccm: {resources_jet_file: list.jet}\n")
    )
    assert done.code == 0
    assert "list.jet:2:" in done.err
    assert "there is no key 'prot'" in done.err
