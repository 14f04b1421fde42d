"""Reads secrets that are kept outside of the manifest: the section ``secrets`` declares them, ``Secrets`` holds them.

No value is ever written to a file or passed as an argument. A run reads files again at each load of the manifest, and
runs commands and queries Vault at an interval. If a source does not answer, its last value stays in memory.

- ``declarations``: the sources that a manifest can declare;
- ``reader``: the same for a run, imported before it is known whether there are secrets; ``errors``: their error;
- ``store``: the values of one run, in memory;
- ``files``: opens encrypted files and key files; ``age`` and ``sops`` decrypt them, ``sops_formats`` parses;
- ``commands``: the output of a command, also of ``systemd-creds``;
- ``fleet_place``: where a host of a fleet keeps its secrets;
- ``vault``: the HTTP API of Vault and OpenBao; ``vault_login``: the token of a login, and its renewal.
"""
