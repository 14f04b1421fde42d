"""The kinds that come with reactor: one package per kind, one module per provider.

A package may have two kinds that do the same to different things. The modules beside the packages, and three packages
that no kind is in, are for several kinds: ``process`` runs commands, ``download`` asks servers for files, and ``health``
runs health checks.

A kind that writes a small file takes one of these:

- ``own_file``: a file that is its own as a whole, with root as owner; ``managed_header`` is the first line of it;
- ``textfile``: a text in which it changes a part, or all, and which people edit, too: owner and mode stay;
- ``owned_lines``: the base of a kind that owns lines of a file; ``shared_lines`` reads and edits such files;
- ``assignments``: lines ``NAME=value``, as a shell or systemd reads them;
- ``system_link``: a symlink that says how the system is set up.

What decides whether others could lead root astray: ``trusted_directory``, ``trusted_sources``; ``named_programs`` are
programs that something else starts later. For packages of languages: ``package_directory`` and ``package_spec``. For
messages and properties: ``enumeration``, ``ip_networks``, ``default_name``.
"""
