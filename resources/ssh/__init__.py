"""The kinds ``authorized_key`` and ``known_host``: single lines of the files of OpenSSH.

`key_file` finds the file of a user, and `public_key` parses keys. `key_options` parses the options of a key.
`authorized_lines` and `known_lines` find and write lines, `strict_modes` finds the reason why sshd(8) would ignore a
file, and `authorized_key` and `known_host` are the kinds.
"""
