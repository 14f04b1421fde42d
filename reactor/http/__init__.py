"""HTTP requests: all requests of kinds, health checks and manifests are made here, and nowhere else.

A server may send anything, for any length of time. So each part of a response has a limit that is checked before the
part is read: bytes of the body, bytes of everything around it, total seconds, seconds of silence, redirects. Requests
ask for responses without compression, and nothing is ever decompressed.

- ``request``: a request, the limits of the response, and the errors when there is none;
- ``url``: the parts of a URL, the target of a redirect, the proxy that the environment names;
- ``wire``: the connection; it counts every byte before parsing, and parses one response at a time;
- ``response``: sends one request and reads its response;
- ``client``: the response after all redirects.
"""
