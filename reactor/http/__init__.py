"""HTTP requests: every kind, health check and manifest that asks a server something does it here, and nowhere else.

A server may send anything, for any time. Each part of a response is bounded before it is read: bytes of the body, bytes
of everything around it, seconds for all of it, seconds of silence, redirects. Requests ask for responses without
compression, and nothing is ever decoded.

- ``request``: what a request asks, the limits of the response, and the errors when there is none;
- ``url``: the parts of a URL, the target of a redirect, the proxy that the environment names;
- ``wire``: the connection, which counts every byte before it is parsed, and parses one response at a time;
- ``response``: one request and its response;
- ``client``: the response after all redirects.
"""
