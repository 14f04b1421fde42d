"""The checks of `reactor fleet doctor`.

- ``check``: the result of one check;
- ``files``: the directory of the operator, the file of signers, the CA;
- ``servers``: each server: does it answer, its version, JetStream, its certificate, its clock, its users;
- ``judgements``: decides what is right and wrong, as functions on values;
- ``streams``: compares the streams with the ones that `init` makes; their copies; the permissions of the operator;
- ``examination``: runs all checks within 3 seconds.
"""
