"""The engines for templates of manifests: each rendering runs in a worker process without privileges and with limits.

- ``channel``: messages between the two processes;
- ``responses``: what the parent answers when a template needs a source, a function or a lazy map;
- ``process``: one worker process, as its parent sees it: started, asked with a deadline, ended;
- ``engine``: the pool of these processes, and the engines that use it;
- ``worker``: the program of the worker process, which renders templates and trees of them; ``limits``: the privileges it
  drops and its rlimits; ``requests``: what it asks its parent for.
"""
