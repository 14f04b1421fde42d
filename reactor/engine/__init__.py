"""What runs a graph. `engine` drives trio; `scheduler` decides, without I/O or clock.

The scheduler's parts: `readiness` (who waits for whom), `blocking` (who is blocked by whose failure), `retries` with `backoff`,
`delay_queue` (what waits for a time), `admission` (who has to wait for its `limits`), `refreshes` (who owes one),
`debounce` (those that are gathered), `batch_scheduler` (who is applied together; `batch_apply` is where they meet).

The engine's: `worker_pool`, who get their work from it and do it by `vertex_checks` (one vertex in a run) and `check` (one
resource, for itself) with `health` and `repairs` (what bad health leads to); `prechecks` (what is known before a check), `watch_manager`, `wakeup`, `audit`, `flapping`,
`follow_up_checks` of a run that hears nothing (`change_log`, `stale_reads`, `rechecks` of what failed, and `final_check`: what one
undid for another), `reversals` (what left the manifest and is undone), `vertex_table` (vertex numbers over generations), `results` and `event_recorder` (what came of it, told as `events`), `run_store`
(what a journal is to do).
"""
