"""What runs a graph. `engine` drives trio; `scheduler` decides, without I/O or clock.

The scheduler's parts: `order` (who waits for whom), `blame` (who is blocked by whose failure), `retries` with `backoff`,
`agenda` (what waits for a time), `admission` (who has to wait for its `limits`), `refreshes` (who owes one),
`bursts` (those that are gathered), `groups` (who is applied together; `gathering` is where they meet).

The engine's: `workers`, who get their work from it and do it by `checking` (one vertex in a run) and `check` (one
resource, for itself) with `health` and `repairs` (what bad health leads to); `foregone` (what is known before a check), `watching`, `alarm`, `audit`, `fights`,
`last_looks` of a run that hears nothing (`change_log`, `rereading`, `rechecks` of what failed, and `second_look`: what one
undid for another), `reversals` (what left the manifest and is undone), `roster` (vertex numbers over generations), `ledger` and `herald` (what came of it, told as `events`), `memory`
(what a journal is to do).
"""
