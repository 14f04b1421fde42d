"""Control of a running converger: what it knows, over a Unix socket, and pauses.

- ``names``, ``question``: which resources people mean, and what they want to see of them;
- ``board``: how every resource stands, from the events; ``past``: the same from the journal, when nothing runs;
- ``pauses``: their file; ``pauser``: what they do to a running engine;
- ``subject``: all that can be asked about one run, and asked of it; it knows nothing of HTTP;
- ``broadcast``: the events of a run, to any number of readers;
- ``reasons``: the story of one resource, in sentences;
- ``requests``, ``application``, ``failures``: the routes, what is wrong with a request, and how that is told;
- ``address``, ``socketpath``, ``port``, ``server``: where it listens;
- ``peer``, ``places``: who has connected, and who gives up a place when there are too many; ``hostname``: by which name;
- ``connection``: HTTP on one connection;
- ``metrics``: the numbers over HTTP;
- ``control``: all of it together, for one run;
- ``client``: the other side, for ``reactor status`` and its like; ``refusal``: that what they ask is not done.

`docs/control.md` describes what comes of it.
"""
