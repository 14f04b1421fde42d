"""Trust in files: other users must not be able to change the files that determine what a run does.

- ``rule``: checks a file and every directory on the path to it;
- ``groups``: checks whether a group lets other users write;
- ``inputs``: opens the inputs of a run, under the policy of the process;
- ``trees``: checks everything in a directory, at any depth;
- ``authorities``: makes the TLS context of files that are inputs.
"""
