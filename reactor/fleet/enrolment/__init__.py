"""Enrolment: the documents that a host, the admitting service and operators exchange when a host joins a fleet.

- ``card``: the id, keys, channels and groups of a host; signed by the admitting service;
- ``invitation``: the content of a token of `reactor fleet invite`;
- ``requests``: the request of a host, and the answer.
"""
