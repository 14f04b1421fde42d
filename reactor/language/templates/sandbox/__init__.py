"""The engines for the templates of manifests: each rendering runs in a worker process with limits and no privileges.

- ``channel``: messages between the parent and a worker process;
- ``responses``: the parent's responses when a template needs a source, a function or a lazy map;
- ``process``: one worker process on the parent's side: starts it, sends it work with a deadline, kills it;
- ``engine``: the pool of worker processes, and the engines that use it;
- ``worker``: the program of the worker process, which renders templates and trees of templates; ``limits``: the
  privileges that it drops, and its rlimits; ``requests``: its requests to the parent.
"""
