"""One module for each command, named after it. It imports heavy modules only when the command runs.

`reactor.cli.group.SECTIONS` lists the commands: a new one is named there, and is the function of that name in the module of that
name. Parts of a large command have modules that begin with its name: ``fleet_views``, ``show_kind``.
"""
