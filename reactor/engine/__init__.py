"""Runs a graph: decides which resources to check, checks them, and reports what happened.

- ``engine``: one run; builds the parts below and connects them;
- ``events``: what a run reports; ``event_recorder``: makes the events, and keeps the last result of each vertex;
- ``options``: the options of a run; ``run_store``: what the journal implements;
- ``vertex_table``: the vertex number of each ref, over all generations of the graph, and what another one changes in it.

The scheduler decides which vertex is checked next. It does no I/O and reads no clock:

- ``scheduler``: its interface; ``scheduler_batches``: its calls for many vertices at once; ``scheduler_status``: whether
  all of it is at rest or converged;
- ``readiness``: which vertices wait for others, and which is next; ``blocking``: which are blocked by failures;
- ``retries``: when a failed vertex is checked again; ``delay_queue``: vertices that wait for a time;
- ``limits``: the limits set in ``meta``; ``admission``: enforces limits on starts, and forms batches of vertices that
  are applied together, such as packages;
- ``refreshes``: which vertices a change refreshes, at once or after a period without changes.

From an event to a repaired resource:

- ``watch_manager``: starts watchers and marks the vertices that they report; ``audit``: periodically marks every
  vertex;
- ``dispatcher``: takes marks, and gives ready vertices to the tasks of ``worker_pool``; ``wakeup``: its timer;
- ``vertex_checks``: the check of one vertex; ``prechecks``: what is decided before it; ``check``: observe, plan,
  apply, verify; ``health_examination``: the health checks after it; ``group_check``: ends the checks of a whole group
  that is as desired;
- ``path_owners``: refuses to change a file that another resource manages by another path; ``batch_apply``: applies a
  batch;
- ``check_completion``: what happens when a check has ended; ``outcome``: how a check ended; ``flapping``: detects
  flapping.

For some runs only:

- ``noop``: what a dry run can predict, also what would provide something that is missing;
- ``slots``: resources that wait until a fleet lets them change;
- ``reversals``: undoes resources that left the manifest;
- ``manifest_follower``: reloads the manifest when the run itself changes it;
- ``follow_up_checks``: what a one-shot run checks again before it ends; ``final_check``: the last of these checks;
- ``full_check``: in a continuous run, checks everything once more, as a one-shot run would.
"""
