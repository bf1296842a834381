/**
 * The runbooks by the names of their alerts, as Markdown.
 * Written by `make reference` from docs/runbooks: change those, not this.
 */

export const RUNBOOKS: Readonly<Record<string, string>> = {
  HaiApiSlow: `# HaiApiSlow

Requests are answered slowly.

## What it means

One request of a hundred that reads or writes takes more than two seconds: panels and the \`hai\` command feel slow. Scheduling is another process and goes on.

## Where to look

\`\`\`
kubectl -n hai top pods
kubectl -n hai logs deployment/api --tail=100
\`\`\`

On *HAI / Operations*: are requests refused or waiting (too many of them), or is the database slow?

## What to do

- Many requests of one kind: the log names clients that are refused; [limits](../operations.md#limits-for-each-client) are set by kind.
- The processor: raise \`scheduler.resources\` of the API, or its replicas.
- The database: [HaiDatabaseSlow](HaiDatabaseSlow.md).`,
  HaiClusterErrors: `# HaiClusterErrors

Requests to the cluster fail.

## What it means

More than a tenth of the requests to the cluster fail. HAI tries them again; starts and ends of runs are late meanwhile. The label \`code\` on the dashboard says how: \`none\` is
no answer at all, \`busy\` and \`error\` are those of one machine.

## Where to look

\`\`\`
kubectl get --raw /readyz?verbose | tail -5
kubectl -n hai logs deployment/scheduler --tail=100 | grep -i kubernetes
kubectl get apiservices | grep -v True
\`\`\`

## What to do

- 429: the API server protects itself. Lower \`KubernetesSettings.parallel\`, or give HAI's account a priority level of its own.
- 5xx or \`none\`: the API server, an admission webhook that does not answer, or the network between.
- On one machine: the disk with \`runs/\` is full or slow.`,
  HaiDatabaseSlow: `# HaiDatabaseSlow

The database is slow to commit.

## What it means

One commit of a hundred takes more than half a second. Each tick, each submission and each report waits for commits, so everything becomes slow.

## Where to look

\`\`\`
kubectl -n hai exec postgresql-0 -- psql -U hai -c "select pid, state, wait_event, now() - xact_start as age, left(query, 60) from pg_stat_activity order by age desc nulls last limit 10"
kubectl -n hai exec postgresql-0 -- df -h /var/lib/postgresql
iostat -x 5 3                                           # on one machine: the disk of the state folder
\`\`\`

The operation \`turn\` on the dashboard is waiting for other writers: high with low commits means long transactions, not a slow disk.

## What to do

- A slow or full disk: move the database to a local SSD, free space.
- Another program has a transaction open: end it.
- SQLite and a large platform: use [PostgreSQL](../operations.md#two-replicas).`,
  HaiEffectsFail: `# HaiEffectsFail

The scheduling loop has a problem.

## What it means

The loop ticks, and something is wrong all the same. The label \`what\` says what: \`cluster\`, it cannot see the nodes; \`effects\`, what it has decided cannot be carried
out; \`policy\`, numbers that admins have set do not fit the configuration and are not used.

## Where to look

\`\`\`
curl -s https://HUB/services/hai/api/v1/health
kubectl -n hai logs deployment/scheduler --tail=100     # on one machine: logs/scheduler.log
hai policy
\`\`\`

## What to do

- \`cluster\`: see [HaiClusterErrors](HaiClusterErrors.md).
- \`effects\`: the log names the run and the cluster's answer: often a missing right (\`hai cluster upgrade\` restores the Role), a quota of the namespace, or a full disk.
- \`policy\`: \`hai policy\` names the number; \`hai admin policy unset NAME\` takes it back.`,
  HaiIncidents: `# HaiIncidents

Requests to the scheduler fail by a fault of the platform.

## What it means

A request was answered with 500: a fault of the platform, not of its user. The user was shown the number of the incident.

## Where to look

\`\`\`
kubectl -n hai logs deployment/api --since=30m | grep -A30 -i incident     # on one machine: logs/api.log
\`\`\`

## What to do

- The log holds the whole error, by the incident's number. If it names the database or the cluster, see their alerts.
- Otherwise it is a bug: report it with these lines; they hold no secrets of users.`,
  HaiLeaseFlaps: `# HaiLeaseFlaps

The leading loop changes again and again.

## What it means

The loop that leads changes or is restarted again and again. Each change costs some seconds in which nothing is decided.

## Where to look

\`\`\`
kubectl -n hai get pods -l app.kubernetes.io/component=scheduler       # restarts?
kubectl -n hai logs deployment/scheduler --previous --tail=50
kubectl -n hai logs deployment/scheduler --tail=100 | grep -i lease
\`\`\`

On the dashboard *HAI / Operations*: is the database slow, or a tick?

## What to do

- The pod is killed for its memory: raise \`scheduler.resources\`.
- Probes kill it: the database does not answer within a second, see [HaiDatabaseSlow](HaiDatabaseSlow.md).
- Ticks take longer than the lease: raise \`HaiScheduler.lease_length\`.`,
  HaiNodeTimeLost: `# HaiNodeTimeLost

A tenth of the computed time is lost.

## What it means

More than a tenth of the held node time was computed for nothing: runs were interrupted, or broke, long after their last checkpoint.

## Where to look

\`\`\`
hai list --all-users --all --limit 50
hai status TASK                                         # of a run that was interrupted: how it left, and when it last saved
hai logs TASK
\`\`\`

The dashboard *HAI / Nodes* shows whether runs break ([HaiRunsBreak](HaiRunsBreak.md)) or do not save in their notice ([HaiNoticesCut](HaiNoticesCut.md)).

## What to do

- One user's tasks never save: show them \`hai rehearse\`, which interrupts a task at its user's desk and says what would be lost.
- They save, and HAI does not see it: \`--watch PATH\` names where.
- They need longer to save: \`--grace 5m\` at submission, up to the policy number \`max_grace\`.
- Nodes fail: see [HaiRunsBreak](HaiRunsBreak.md).`,
  HaiNodesLost: `# HaiNodesLost

Nodes do not answer.

## What it means

Nodes do not answer. Their runs were started again elsewhere from their last checkpoints; the nodes take no new ones.

## Where to look

\`\`\`
hai nodes                                               # the message of each
kubectl get nodes; kubectl describe node NODE | tail -20
\`\`\`

## What to do

- They are being repaired: \`hai admin cordon NODE\`, so that they stay out when they come back, and \`hai admin uncordon NODE\` at the end.
- They are gone for good: remove them from the cluster, and they are not shown any more.
- They run and cannot be reached: the kubelet, the network.`,
  HaiNodesQuarantined: `# HaiNodesQuarantined

Nodes are in quarantine, because runs kept failing there.

## What it means

Runs of two users or more failed on these nodes through no fault of theirs, so HAI starts nothing there (rule H3 in [scheduling](../scheduling.md)). At most a tenth of a group is
taken out in this way: beyond it, bad nodes stay in use.

## Where to look

\`\`\`
hai nodes
hai status TASK                                         # of a task that the event \`node.mark\` names
kubectl describe node NODE | tail -20
\`\`\`

On the node: \`nvidia-smi\`, \`dmesg -T | tail -50\`, free space, mounts.

## What to do

- Repair it, try it with a task of your own, and \`hai admin uncordon NODE\`, which forgets its failures.
- It is well, and the tasks were to blame: \`hai admin uncordon NODE\` as well.`,
  HaiNoticesCut: `# HaiNoticesCut

Most runs are cut off at the end of their notice.

## What it means

More than half of the runs that were told to leave were ended at their deadline. They may have lost what they computed since their last checkpoint, and those
who wait for their nodes waited for the whole grace.

## Where to look

\`\`\`
hai list --all-users --all --limit 50
hai status TASK                                         # the profile, and how its runs left
hai policy                                              # default_grace, max_grace, patience
\`\`\`

The dashboard *HAI / Nodes* shows how long runs take by profile.

## What to do

- Profile \`auto\`, and the code catches no signal: that is the default's price. \`hai rehearse -- python train.py\` shows users what happens, and
  [frameworks](../frameworks.md) what one line changes.
- Runs save, and need longer: raise \`default_grace\`.
- If nobody minds, silence the alert: it is for information.`,
  HaiRunsBreak: `# HaiRunsBreak

Runs break.

## What it means

More than five runs within an hour ended because a node was lost, a supervisor was killed or a start failed: by no decision, and not by their command.

## Where to look

\`\`\`
hai nodes
hai list --all-users --all --limit 50
hai status TASK                                         # node and reason of its last run
kubectl get nodes; kubectl -n hai-work get events --sort-by=.lastTimestamp | tail -30
\`\`\`

## What to do

- The same node again and again: \`hai admin cordon NODE\`, and look at its kernel's log.
- \`supervisor_killed\` of one user: the task uses more memory than its node has, or kills its own parent.
- Many nodes at the same moment: network, power, or an upgrade of the cluster that evicts pods.`,
  HaiSchedulerSilent: `# HaiSchedulerSilent

The scheduler decides nothing.

## What it means

Either no tick of the scheduling loop has succeeded for a minute, or Prometheus cannot read the service's metrics at all. Running tasks go on
and save; no task starts, none is told to leave, and submissions wait.

## Where to look

\`\`\`
curl -s https://HUB/services/hai/api/v1/health          # \`detail\` says why, \`last_tick_s\` since when
kubectl -n hai get pods
kubectl -n hai logs deployment/scheduler --tail=50      # on one machine: logs/scheduler.log in the state folder
kubectl -n hai logs deployment/api --tail=50            # on one machine: logs/api.log
\`\`\`

Without \`scheduler.separate\` both are in the Hub's pod: \`deployment/hub\`.

## What to do

- *The state database does not answer*: bring PostgreSQL back; the loop goes on by itself.
- *The cluster cannot be seen*: look at the API server, and at [HaiClusterErrors](HaiClusterErrors.md).
- The loop's pod restarts: its log says which setting or table it refuses. \`kubectl -n hai rollout undo deployment/scheduler\` brings the version before back, unless
  the tables were migrated.
- Health is \`ok\`: Prometheus cannot reach the service, or its token is refused (401, 403 in its list of targets).`,
  HaiStartsStuck: `# HaiStartsStuck

Tasks are started and do not come up.

## What it means

The loop decides, and what it starts does not come up: the tasks stay \`starting\`, and their nodes do nothing meanwhile.

## Where to look

\`\`\`
hai list --all-users --state starting
hai status TASK                                         # what its first rank waits for, in the cluster's words
kubectl -n hai-work get pods | grep -v Running
kubectl -n hai-work describe pod POD                    # the events at the end
\`\`\`

## What to do

- Images that cannot be pulled: the registry, its secret, or the name of the image in the environment.
- \`Unschedulable\`: something else requests what the ranks need; see \`cpu_reserve\` and \`memory_reserve\` in [settings](../reference/settings.md).
- Volumes that are not mounted: the claim or the file server.
- [Operations](../operations.md#a-task-that-does-not-come-up-on-kubernetes) lists what the cluster says and what it means. Nothing needs to be started by hand: the loop
  tries again.`,
  HaiTurnsTooShort: `# HaiTurnsTooShort

Tasks are told to leave for equals very often.

## What it means

Tasks were told to leave for equals as often as \`max_rotations\` allows within an hour: there are more tasks than turns of this length can serve well.

## Where to look

\`\`\`
hai policy
hai list --all-users --state running
\`\`\`

## What to do

- Longer turns: \`hai admin policy set slice=1h\`. [Policy numbers](../policy-numbers.md) says how to choose, and \`hai sim compare\` tries it first.
- Fewer tasks at once: lower quota.`,
  HaiWaitsLong: `# HaiWaitsLong

Urgent tasks wait for more than an hour.

## What it means

A tenth of the turns of priority HIGH and above waited for more than an hour. Such tasks interrupt lower ones, so a long wait means that they wait for
each other, for quota, or for nodes that are not there.

## Where to look

\`\`\`
hai list --all-users --state queued
hai explain TASK                                        # of one that waits: the sentence names the reason
hai nodes                                               # how many are lost, cordoned or in quarantine?
hai admin quota list
\`\`\`

The dashboard *HAI / Capacity and waiting* shows since when, and at which level.

## What to do

- Quota: raise it for some time, \`hai admin quota set user:bob HIGH 8 --for 2d\`, or leave it as it is: then the wait is what was agreed.
- Too much has become urgent: lower the quota of HIGH, so that users choose.
- Nodes are missing: [HaiNodesLost](HaiNodesLost.md), [HaiNodesQuarantined](HaiNodesQuarantined.md).
- Runs are slow to leave: [HaiNoticesCut](HaiNoticesCut.md). Otherwise the cluster is too small for its work; \`hai sim\` says what more nodes would bring.`
};
