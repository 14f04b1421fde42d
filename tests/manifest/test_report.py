import os

import pytest

from reactor.errors import Place
from reactor.manifest.report import render
from reactor.resource.diagnostic import Diagnostic

TEXT = "resources:\n  - fiel:\n      - /a: {}\n  - job:\n      - b:\n      - b:\n"


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Render one diagnostic about a file with the given text."""
    monkeypatch.chdir(tmp_path)

    def shown(text, line, column, message="it is wrong", **more):
        (tmp_path / "site.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return render([Diagnostic("R0107", message, Place("site.yaml", line, column), **more)], color=False)

    return shown


def test_a_file_too_large_for_a_manifest_has_no_excerpt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("site.yaml", "wb") as file:
        file.truncate(1 << 40)  # a disk with nothing on it
    found = Diagnostic("R0113", "the manifest is too large", Place("site.yaml", 1, 1))
    assert render([found], color=False) == (
        "site.yaml:1:1: error[R0113]: the manifest is too large\n\n1 error in 1 file\n"
    )


def test_a_report_shows_what_where_and_how_to_repair_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.yaml").write_text(TEXT)
    diagnostics = [
        Diagnostic("R0107", "unknown kind 'fiel'", Place("site.yaml", 2, 5), "did you mean 'file'?"),
        Diagnostic(
            "R0107",
            "job#b is declared twice",
            Place("site.yaml", 6, 9),
            "remove one of them",
            (("first declared here", Place("site.yaml", 5, 9)), ("a name leads to one resource", None)),
        ),
        Diagnostic("R0107", "nobody knows where"),
    ]
    assert render(diagnostics, color=False) == (
        "site.yaml:2:5: error[R0107]: unknown kind 'fiel'\n"
        "  1 | resources:\n"
        "  2 |   - fiel:\n"
        "    |     ^\n"
        "  3 |       - /a: {}\n"
        "hint: did you mean 'file'?\n"
        "\n"
        "site.yaml:6:9: error[R0107]: job#b is declared twice\n"
        "  5 |       - b:\n"
        "  6 |       - b:\n"
        "    |         ^\n"
        "hint: remove one of them\n"
        "site.yaml:5:9: note: first declared here\n"
        "  4 |   - job:\n"
        "  5 |       - b:\n"
        "    |         ^\n"
        "  6 |       - b:\n"
        "note: a name leads to one resource\n"
        "\n"
        "error[R0107]: nobody knows where\n"
        "\n"
        "3 errors in 1 file\n"
    )


def test_colours_change_nothing_but_the_colours(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(TEXT)
    diagnostics = [
        Diagnostic("R0107", "wrong", Place(str(path), 2, 5), "mend it", (("see", Place(str(path), 1, 1)),))
    ]
    coloured = render(diagnostics, color=True)
    plain = coloured
    for style in ("0", "1", "2", "1;31", "1;32", "1;36"):
        assert f"\x1b[{style}m" in coloured
        plain = plain.replace(f"\x1b[{style}m", "")
    assert plain == render(diagnostics, color=False)


@pytest.mark.parametrize(
    ("places", "count"),
    [
        ([], "0 errors"),
        ([None], "1 error"),
        ([Place("a", 1, 1)], "1 error in 1 file"),
        ([Place("command line", 1, 1)], "1 error"),
        ([Place("a", 1, 1), Place("a", 2, 1), Place("b", 1, 1)], "3 errors in 2 files"),
    ],
)
def test_the_last_line_counts(places, count):
    assert (
        render([Diagnostic("R0107", "x", place) for place in places], color=False).splitlines()[-1] == count
    )


def caret_of(report):
    """The line shown above the caret from the caret on."""
    lines = report.splitlines()
    index = next(index for index, line in enumerate(lines) if line.endswith(" ^"))
    return lines[index - 1][len(lines[index]) - 1 :]


@pytest.mark.parametrize(
    ("line", "column", "below"),
    [
        ("abc", 2, "bc"),
        ("a\tbc", 3, "bc"),
        ("a\x1b[31mbc", 7, "bc"),
        ("äöü", 3, "ü"),
        ("abc", 4, ""),
        ("x" * 500 + "HERE" + "y" * 500, 501, "HERE" + "y" * 36 + "…"),
        ("x" * 500 + "HERE", 501, "HERE"),
        ("\t" * 200 + "HERE", 201, "HERE"),
        ("x" * 499 + "\x1bHERE", 501, "HERE"),
    ],
)
def test_the_caret_stands_below_the_character(shown, line, column, below):
    assert caret_of(shown(line, 1, column)) == below


@pytest.mark.parametrize(("line", "column", "indent"), [("名前: x", 5, 6), ("e\u0301x", 3, 1), ("名", 2, 2)])
def test_the_caret_counts_columns_of_the_terminal(shown, line, column, indent):
    [caret] = [each for each in shown(line, 1, column).splitlines() if each.endswith("^")]
    assert caret == "    | " + " " * indent + "^"


@pytest.mark.parametrize(
    ("line", "numbers"),
    [(8, ["  7", "  8", "  9"]), (9, ["   8", "   9", "  10"]), (99, ["   98", "   99", "  100"])],
)
def test_the_numbers_of_lines_are_aligned(shown, line, numbers):
    excerpt = [each for each in shown("x\n" * 200, line, 1).splitlines() if " | x" in each]
    assert [each.partition(" |")[0] for each in excerpt] == numbers


def test_a_very_long_line_shows_a_window_around_the_caret(shown):
    report = shown("start" + "x" * 2_000_000, 1, 1_000_000)
    assert max(map(len, report.splitlines())) < 120
    assert "start" not in report


@pytest.mark.parametrize("char", ["\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\ufeff", "\r"])
def test_nothing_of_a_file_or_message_reaches_the_terminal_unescaped(shown, char):
    report = shown(f"a{char}b\nc", 1, 1, f"x{char}y", hint=f"p{char}q")
    assert char not in report
    in_the_line = char != "\r"  # that ends it
    assert report.count(char.encode("unicode_escape").decode()) == 2 + in_the_line


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_may_end_with_carriage_returns(shown, end):
    assert "  1 | a\n  2 | b\n    | ^\n  3 | c\n" in shown(f"a{end}b{end}c{end}", 2, 1)


def test_bytes_that_are_no_text_are_replaced(shown):
    assert "  1 | a�b\n" in shown(b"a\xffb\n", 1, 2)


def test_a_place_behind_the_last_line_has_no_excerpt(shown):
    assert shown("a\n", 7, 1) == "site.yaml:7:1: error[R0107]: it is wrong\n\n1 error in 1 file\n"


@pytest.mark.parametrize("make", [lambda path: None, os.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_a_file_that_can_not_be_read_again_only_costs_the_excerpt(tmp_path, make):
    path = tmp_path / "gone"
    make(path)
    report = render([Diagnostic("R0107", "it is wrong", Place(str(path), 1, 1))], color=False)
    assert report == f"{path}:1:1: error[R0107]: it is wrong\n\n1 error in 1 file\n"


def test_a_list_in_a_hint_is_wrapped_at_the_width_of_the_terminal():
    words = ["alpha", "beta-beta", "gamma", "delta", "epsilon", "zeta", "eta"]
    long = Diagnostic("R0107", "x", None, f"it takes {', '.join(words)}")
    assert render([long], color=False, width=40) == (
        "error[R0107]: x\n"
        "hint: it takes alpha, beta-beta, gamma,\n"
        "      delta, epsilon, zeta, eta\n\n"
        "1 error\n"
    )
    assert len(render([long], color=False).splitlines()) == 4
    command = Diagnostic("R0107", "x", None, "run " + "word " * 30)
    assert len(render([command], color=False, width=40).splitlines()) == 4
