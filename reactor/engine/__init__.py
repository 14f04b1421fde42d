"""Runs a graph: decides which resources to check, checks them, and reports what happened.

- ``engine``: one run; starts the tasks, and connects the parts below with trio;
- ``events``: what a run reports; ``event_recorder``: makes the events, ``results``: the last result of each vertex;
- ``options``: the options of a run; ``run_store``: what the journal implements;
- ``vertex_table``: the vertex number of each ref, over all generations of the graph.

The scheduler decides which vertex is checked next. It does no I/O and reads no clock:

- ``scheduler``: its door; ``readiness``: which vertices wait for others; ``blocking``: which are blocked by failures;
- ``retries`` and ``backoff``: when what failed is checked again; ``delay_queue``: what waits for a time;
- ``admission``: limits on starts (``limits``: semaphores, rates); ``fail_fast``: what may start after a failure;
- ``refreshes``: which vertices a change refreshes; ``debounce``: refreshes that wait for calm;
- ``batch_scheduler``: vertices that are applied together, such as packages.

A check goes this way:

- ``dispatcher``: takes marks, and gives ready vertices to the tasks of ``worker_pool``;
- ``vertex_checks``: the check of one vertex; ``prechecks``: what is decided before it, ``check``: observe, plan, apply, verify;
- ``path_owners``: refuses a change of what another resource manages by another name; ``batch_apply``: applies a batch;
- ``health`` and ``repairs``: health checks, and the repairs they lead to; ``noop``: what a dry run can foretell;
- ``check_completion``: what happens when a check has ended; ``outcome``: how it did; ``flapping``: detects flapping;
- ``secret_diffs``: removes secrets from diffs; ``reversals``: undoes what left the manifest.

What else leads to checks:

- ``watch_manager``: starts watchers and marks what they report; ``audit``: checks everything now and then;
- ``wakeup``: wakes the loop at the next deadline; ``owed_refreshes``: refreshes pending from an earlier process;
- ``manifest_follower``: follows the manifest when the run itself changes it;
- ``follow_up_checks``: what a one-shot run checks again before it ends: ``change_log``, ``stale_reads``, ``rechecks`` of what
  failed, ``final_check``.
"""
