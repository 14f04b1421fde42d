"""Downloads over http and https, for the kinds ``archive``, ``file`` and ``package``.

`source` has the URLs, their credentials and the property types for them. `remote_source` is what is downloaded.
`fetching` downloads over HTTP, within a time limit. `partial_download` is the temporary file of a download, which a
later process can resume. `download_origin` stores the ETag of the downloaded version.
"""
