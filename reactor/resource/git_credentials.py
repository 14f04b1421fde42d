"""How git gets the credentials of one server, and no other program or server does."""

from __future__ import annotations

from collections.abc import Mapping

_UNSPEAKABLE = frozenset("\n\r\0")
_HELPER = """!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$REACTOR_GIT_USER" "$REACTOR_GIT_PASSWORD"; }; f"""


def git_credentials(base: str, user: str, password: str) -> Mapping[str, str]:
    """The environment variables with which git logs in to the server at ``base``, its scheme and host.

    All users can see the arguments of git, and a header of `http.extraHeader` would follow a redirect to another server.
    The helpers of the user, which may keep what they hear, are not asked. Raises ValueError for a line break, which
    ends a value in what a helper says.
    """
    if not _UNSPEAKABLE.isdisjoint(user + password):
        raise ValueError("the user and the password can't have a line break, which ends them for git")
    return {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": "",
        "GIT_CONFIG_KEY_1": f"credential.{base}.helper",
        "GIT_CONFIG_VALUE_1": _HELPER,
        "REACTOR_GIT_USER": user,
        "REACTOR_GIT_PASSWORD": password,
    }
