"""A rehearsal of an interruption on this machine: `hai rehearse -- COMMAND`.

The command runs under the same supervisor as on the cluster (`hai_client.rank`), which talks to a small service in this
process instead of the platform's. The command gets a notice and is started again. The rehearsal observes which files it
writes after the notice, and which of them it reads after the second start. No platform, login or other package is
needed. It works on Linux only, like the supervisor.
"""
