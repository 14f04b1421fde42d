"""What runs a graph. `engine` drives trio; `scheduler` decides, without I/O or clock.

The scheduler's parts: `order` (who waits for whom), `blame` (who is blocked by whose failure), `retries` with
`backoff`, `limits`. The engine's: `workers`, `check`, `watching`, `audit`, `fights`, `roster` (vertex numbers over
generations), `ledger` and `herald` (what came of it, told as `events`), `memory` (what a journal is to do).
"""
