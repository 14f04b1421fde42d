"""Which host takes which release, and when: pure functions on frozen data, without clock, network or files.

- ``rank``: where a host stands in the queue of one rollout;
- ``waves``: the sizes of the waves, from what people write;
- ``windows``: the hours of the week in which something may begin;
- ``gate``: what must be true of a wave before the next one begins;
- ``state``: the state of a channel, as it is stored;
- ``hosts``: what the driver knows of a host;
- ``verdict``: judges a wave by its gate;
- ``conditions``: the conditions of a gate, one by one, as people see them;
- ``step``: the next state of a channel, as the driver writes it;
- ``acts``: what people do to a rollout: begin, pause, resume, halt, roll back, advance, approve;
- ``wanted``: which release a host should have, as the host itself decides.

Everything is decided on one revision of the state and written with that revision as a condition, so a decision on an
old state changes nothing.
"""
