"""Words are split as /bin/sh splits them; where a shell would expand, they stay as written."""

import re
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reactor.resources.process.quoting import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo hello world", ["echo", "hello", "world"]),
        ("  echo\t hello\nworld  ", ["echo", "hello", "world"]),
        ("echo 'hello world'", ["echo", "hello world"]),
        ('echo "it\'s a test"', ["echo", "it's a test"]),
        ("echo hello\\ world", ["echo", "hello world"]),
        ("a'b c'\"d e\"f", ["ab cd ef"]),
        ("a '' \"\"", ["a", "", ""]),
        ("tar xzf a.tgz \\\n  -C /opt", ["tar", "xzf", "a.tgz", "-C", "/opt"]),
        ("so\\\nlid", ["solid"]),
        ('"\\$HOME \\`x\\` \\"q\\" \\\\ \\n"', ['$HOME `x` "q" \\ \\n']),
        ("'\\n'", ["\\n"]),
        (
            "echo $HOME *.txt a|b >c #d ~ $(x) `y`",
            ["echo", "$HOME", "*.txt", "a|b", ">c", "#d", "~", "$(x)", "`y`"],
        ),
        ("grüße\u00a0x", ["grüße\u00a0x"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_text_is_split_into_words(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo 'x", "unterminated single quote"),
        ("echo don't", "unterminated single quote"),
        ('echo "x', "unterminated double quote"),
        ('echo "x\\"', "unterminated double quote"),
        ("echo x\\", "a backslash at the end escapes nothing"),
    ],
)
def test_what_has_no_end_is_an_error(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        split_words(text)


_PIECES = st.sampled_from(["a", "ü", " ", "\t", "'", '"', "\\", "\\\n", "''", '""', "=", "-"])


@settings(max_examples=150)
@given(st.lists(_PIECES, max_size=12).map("".join))
def test_the_shell_sees_the_same_words(text):
    assume(not re.search(r"(?<!\\)(\\\\)*\n", text))  # to a shell a bare newline ends the command
    try:
        words = split_words(text)
    except ValueError as error:
        if "backslash" not in str(error):  # at the very end a shell takes it literally
            assert _shell_words(text) is None
    else:
        assert _shell_words(text) == words


def _shell_words(text):
    script = '[ $# = 0 ] || printf "%s\\0" "$@"'
    shell = ["/bin/sh", "-c", f"set -- {text}\n{script}"]
    done = subprocess.run(shell, capture_output=True, env={}, check=False)
    return None if done.returncode else done.stdout.decode().split("\0")[:-1]
