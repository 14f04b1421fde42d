"""HTTP requests: every kind, health check and manifest that asks a server something does it here, and nowhere else.

A server may send whatever it likes, for as long as it likes. What is taken of an answer is bounded before it is
read: bytes of the body, bytes of everything around it, seconds for all of it, seconds of silence, redirects. The
answer is asked for as it is, without compression, and never decoded.

- ``errors``: why there is no answer;
- ``url``: what a URL says, where a redirect leads, which proxy the environment names;
- ``request``: what is asked, and what the answer may take;
- ``parse_turns``: of all requests, one at a time is parsed;
- ``wire``: the connection, which counts every byte before it is parsed;
- ``answer``: one request and its answer;
- ``client``: the answer after all redirects.
"""
