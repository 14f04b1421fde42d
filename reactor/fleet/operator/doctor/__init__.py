"""What `reactor fleet doctor` tries, and what it says.

- ``check``: one thing that was tried;
- ``files``: the directory of the operator, the file of signers, the CA;
- ``servers``: each server: does it answer, its version, JetStream, its certificate, its clock, its users;
- ``judgements``: what is right and wrong, as functions on values;
- ``streams``: the streams against those that `init` makes, their copies, what the operator may do;
- ``examination``: all of it, within 3 seconds.
"""
