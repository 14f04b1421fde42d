"""Files fetched over http and https, for the kinds ``archive`` and ``file``.

`source` says where one comes from, `properties` how that is written, `fetching` brings it (HTTP), `partial` is the
temporary file, which can be resumed, `origin` what the server called that version, `digest` its SHA-256, and `progress`
tells people.
"""
