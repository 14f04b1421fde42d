"""Which host takes which release, and when: pure functions on frozen data, without clock, network or files.

- ``rank``: the position of a host in one rollout;
- ``waves``: parses the sizes of the waves;
- ``windows``: the hours of the week in which something may begin;
- ``gate``: the conditions of a wave before the next one begins;
- ``state``: the state of a channel, as it is stored;
- ``hosts``: the state of a host, as the driver sees it;
- ``conditions``: whether a wave meets the conditions of its gate, and each condition for display;
- ``step``: the next state of a channel, as the driver writes it;
- ``commands``: the commands of operators: begin, pause, resume, halt, roll back, advance, approve;
- ``desired_release``: the release that a host should have, as the host itself decides.

Everything is decided on one revision of the state and written with that revision as a condition, so a decision on an
old state changes nothing.
"""
