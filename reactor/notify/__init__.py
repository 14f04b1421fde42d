"""Sends notifications of a run: the section ``notify`` of a manifest declares the channels.

Failures, recoveries, flapping and drift that the audit found are grouped, and sent by webhook, mail or command. What
could not be sent is kept, also over a restart: in the state directory. Repairs never wait for a channel.

- ``alerts``: groups the events of one channel, and decides when to send; it does no I/O;
- ``alert_file``: keeps the alerts in the state directory;
- ``message``: a group of alerts as text, as JSON and as the body that a template gives;
- ``sender``: sends a message through the channel that is declared: a webhook, a command, or ``mail``; ``errors``: its
  error;
- ``smtp_session``: bounds what a mail server answers, and ends its connection; ``smtp_errors``: explains its refusals;
- ``run_notifications``: the sink of events, and the task beside the engine.
"""
