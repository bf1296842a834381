"""A rehearsal of an interruption on this machine: `hai rehearse -- COMMAND`.

The command runs under the supervisor that runs it on the cluster (`hai_client.rank`), which speaks to a small service
in this process instead of the platform's. It is told to leave, started again, and watched from outside: which files it
wrote after the notice, and which of them it read when it was started again. Nothing else is needed: no platform, no
login, no package besides this one. Linux only, as the supervisor is.
"""
