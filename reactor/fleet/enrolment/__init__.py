"""How a host becomes one of a fleet: what operators, the admitting service and hosts exchange for it.

- ``card``: who a host is: id, keys, channels, groups; signed by the admitting service;
- ``invitation``: what a token of `reactor fleet invite` holds;
- ``requests``: what a host asks for, and what it is answered.
"""
