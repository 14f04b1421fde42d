"""The live page: the graph of a running converger as it is now, in a browser, and pauses from there.

- ``token``, ``access``, ``guard``: who may see the page, and the checks before every answer;
- ``scene``: the picture of the graph, by a program of its own;
- ``drawing``: the picture that is in force;
- ``standings``, ``news``, ``diffs``: how resources stand, what has happened, and what that has changed;
- ``past``: what the journal adds to that; ``details``: everything about one resource;
- ``pulse``: the stream of all that, told at fixed times; ``stream``: the same to one client;
- ``pace``: long work in pieces, so that a repair goes first;
- ``application``: the routes; ``page/``: what the browser gets;
- ``live``: all of it together, for one run.

`docs/live-page.md` describes what comes of it.
"""
