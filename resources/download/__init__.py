"""Files fetched over http and https, for the kinds ``archive``, ``file`` and ``package``.

`source` says where one comes from, `properties` how that is written, `fetching` brings it (HTTP), `partial_download` is the
temporary file, which can be resumed, `download_origin` what the server called that version, `progress`
tells people, and `to_file` keeps to a time limit, and makes a file of a download that nothing is remembered of.
"""
