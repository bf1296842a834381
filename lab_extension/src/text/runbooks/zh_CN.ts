/**
 * The runbooks by the names of their alerts, as Markdown.
 * Written by `make reference` from lab_extension/runbooks/zh_CN: change those, not this.
 */

export const RUNBOOKS: Readonly<Record<string, string>> = {
  HaiApiSlow: `# HaiApiSlow

请求响应缓慢。

## 含义

读写请求中有百分之一耗时超过两秒：面板和 \`hai\` 命令会感觉迟缓。调度在另一个进程中进行，不受影响。

## 在哪里查看

\`\`\`
kubectl -n hai top pods
kubectl -n hai logs deployment/api --tail=100
\`\`\`

在仪表板 *HAI / Operations* 上查看：是请求被拒绝或在等待（请求过多），还是数据库缓慢？

## 处理方法

- 同一类请求过多：日志会写明被拒绝的客户端；[限制](../operations.md#limits-for-each-client)按请求类别设置。
- 处理器不足：提高 API 的 \`scheduler.resources\`，或增加副本数。
- 数据库缓慢：参见 [HaiDatabaseSlow](HaiDatabaseSlow.md)。`,
  HaiClusterErrors: `# HaiClusterErrors

发往集群的请求失败。

## 含义

发往集群的请求有十分之一以上失败。HAI 会重试，但在此期间运行的启动和结束都会延迟。仪表板上的标签 \`code\` 说明失败的方式：\`none\` 表示完全没有应答，\`busy\` 和 \`error\` 是单机运行时的失败。

## 在哪里查看

\`\`\`
kubectl get --raw /readyz?verbose | tail -5
kubectl -n hai logs deployment/scheduler --tail=100 | grep -i kubernetes
kubectl get apiservices | grep -v True
\`\`\`

## 处理方法

- 429：API 服务器在自我保护。请调低 \`KubernetesSettings.parallel\`，或为 HAI 的账户设置单独的 priority level。
- 5xx 或 \`none\`：问题出在 API 服务器、没有应答的准入 webhook，或两者之间的网络。
- 单机运行时：\`runs/\` 所在的磁盘已满或缓慢。`,
  HaiDatabaseSlow: `# HaiDatabaseSlow

数据库提交缓慢。

## 含义

每一百次提交中有一次耗时超过半秒。每个调度周期、每次提交任务、每次上报都要等待数据库提交，因此一切都会变慢。

## 在哪里查看

\`\`\`
kubectl -n hai exec postgresql-0 -- psql -U hai -c "select pid, state, wait_event, now() - xact_start as age, left(query, 60) from pg_stat_activity order by age desc nulls last limit 10"
kubectl -n hai exec postgresql-0 -- df -h /var/lib/postgresql
iostat -x 5 3                                           # 单机运行时：状态目录所在的磁盘
\`\`\`

仪表板上的操作 \`turn\` 是等待其他写入者的时间：如果它高而提交时间低，说明是长事务，而不是磁盘缓慢。

## 处理方法

- 磁盘缓慢或已满：将数据库移到本地 SSD，或释放空间。
- 另一个程序有未结束的事务：结束它。
- 平台规模较大而使用 SQLite：改用 [PostgreSQL](../operations.md#two-replicas)。`,
  HaiEffectsFail: `# HaiEffectsFail

调度循环有问题。

## 含义

调度循环仍在运转，但出现了问题。标签 \`what\` 说明是什么问题：\`cluster\` 表示看不到节点；\`effects\` 表示已决定的操作无法执行；\`policy\` 表示管理员设置的策略参数与配置不符，因此没有使用。

## 在哪里查看

\`\`\`
curl -s https://HUB/services/hai/api/v1/health
kubectl -n hai logs deployment/scheduler --tail=100     # 单机运行时：logs/scheduler.log
hai policy
\`\`\`

## 处理方法

- \`cluster\`：参见 [HaiClusterErrors](HaiClusterErrors.md)。
- \`effects\`：日志会写明是哪个运行以及集群的应答：通常是缺少权限（\`hai cluster upgrade\` 会恢复 Role）、超出命名空间的配额，或磁盘已满。
- \`policy\`：\`hai policy\` 会指出是哪个参数；\`hai admin policy unset NAME\` 可将其撤回。`,
  HaiIncidents: `# HaiIncidents

发往调度器的请求因平台故障而失败。

## 含义

某个请求得到 500 应答：这是平台的故障，不是用户的错误。用户看到了该事件的编号。

## 在哪里查看

\`\`\`
kubectl -n hai logs deployment/api --since=30m | grep -A30 -i incident     # 单机运行时：logs/api.log
\`\`\`

## 处理方法

- 日志中按事件编号记录了完整的错误。如果其中提到数据库或集群，请查看它们的告警。
- 否则这是一个缺陷：请附上这些日志行报告；其中不含用户的机密信息。`,
  HaiLeaseFlaps: `# HaiLeaseFlaps

主调度循环反复更换。

## 含义

担任主角色的调度循环反复更换或重启。每次更换都有数秒时间不做任何调度决定。

## 在哪里查看

\`\`\`
kubectl -n hai get pods -l app.kubernetes.io/component=scheduler       # 是否有重启？
kubectl -n hai logs deployment/scheduler --previous --tail=50
kubectl -n hai logs deployment/scheduler --tail=100 | grep -i lease
\`\`\`

在仪表板 *HAI / Operations* 上查看：是数据库缓慢，还是调度周期缓慢？

## 处理方法

- Pod 因内存超限被终止：提高 \`scheduler.resources\`。
- Pod 被探针终止：数据库在一秒内没有应答，参见 [HaiDatabaseSlow](HaiDatabaseSlow.md)。
- 调度周期比租约更长：提高 \`HaiScheduler.lease_length\`。`,
  HaiNodeTimeLost: `# HaiNodeTimeLost

十分之一的计算时间被浪费。

## 含义

占用的节点时间中有十分之一以上白白计算：运行在上次检查点之后很久才被中断，或异常中断。

## 在哪里查看

\`\`\`
hai list --all-users --all --limit 50
hai status TASK                                         # 对于被中断的运行：它如何退出，上次何时保存
hai logs TASK
\`\`\`

仪表板 *HAI / Nodes* 显示运行是否异常中断（[HaiRunsBreak](HaiRunsBreak.md)），或是否在通知期限内没有保存（[HaiNoticesCut](HaiNoticesCut.md)）。

## 处理方法

- 某个用户的任务从不保存：向其介绍 \`hai rehearse\`，它会在用户自己的环境中中断任务，并说明会损失什么。
- 任务会保存，但 HAI 看不到：用 \`--watch PATH\` 指定保存位置。
- 任务需要更长时间保存：提交时使用 \`--grace 5m\`，上限为策略参数 \`max_grace\`。
- 节点故障：参见 [HaiRunsBreak](HaiRunsBreak.md)。`,
  HaiNodesLost: `# HaiNodesLost

节点没有应答。

## 含义

有节点没有应答。其上的运行已从上次检查点在其他节点重新启动；这些节点不再接受新的运行。

## 在哪里查看

\`\`\`
hai nodes                                               # 每个节点的提示
kubectl get nodes; kubectl describe node NODE | tail -20
\`\`\`

## 处理方法

- 节点正在维修：用 \`hai admin cordon NODE\` 封锁，使其恢复后也不参与调度，维修结束后用 \`hai admin uncordon NODE\` 解除。
- 节点不再使用：将其从集群中移除，之后便不再显示。
- 节点在运行但无法访问：检查 kubelet 和网络。`,
  HaiNodesQuarantined: `# HaiNodesQuarantined

节点因运行屡次失败而被隔离。

## 含义

至少两个用户的运行在这些节点上失败，而且不是用户的过错，因此 HAI 不在其上启动任何运行（参见[调度](../scheduling.md)中的规则 H3）。一个节点组最多有十分之一的节点以这种方式移出；超出后，有问题的节点继续使用。

## 在哪里查看

\`\`\`
hai nodes
hai status TASK                                         # 事件 \`node.mark\` 所指的任务
kubectl describe node NODE | tail -20
\`\`\`

在节点上查看：\`nvidia-smi\`、\`dmesg -T | tail -50\`、剩余空间、挂载。

## 处理方法

- 修复节点，用您自己的任务试运行，然后执行 \`hai admin uncordon NODE\`，它会清除节点的失败记录。
- 节点正常，问题出在任务上：同样执行 \`hai admin uncordon NODE\`。`,
  HaiNoticesCut: `# HaiNoticesCut

多数运行在通知期限结束时被强制终止。

## 含义

收到退出通知的运行中，一半以上在截止时间被终止。它们可能丢失了上次检查点之后的计算，而等待其节点的任务则等满了整个宽限时间。

## 在哪里查看

\`\`\`
hai list --all-users --all --limit 50
hai status TASK                                         # profile，以及各运行如何退出
hai policy                                              # default_grace, max_grace, patience
\`\`\`

仪表板 *HAI / Nodes* 按 profile 显示运行退出所需的时间。

## 处理方法

- profile 为 \`auto\`，而代码没有处理信号：这是默认方式的代价。\`hai rehearse -- python train.py\` 向用户展示会发生什么，[各框架的说明](../frameworks.md)写明改动一行能带来什么。
- 运行会保存，但需要更长时间：提高 \`default_grace\`。
- 如果无人在意，可将此告警静默：它仅供参考。`,
  HaiRunsBreak: `# HaiRunsBreak

运行异常中断。

## 含义

一小时内有五个以上的运行因节点丢失、监管进程被终止或启动失败而结束：既不是调度的决定，也不是其命令所致。

## 在哪里查看

\`\`\`
hai nodes
hai list --all-users --all --limit 50
hai status TASK                                         # 上次运行的节点和原因
kubectl get nodes; kubectl -n hai-work get events --sort-by=.lastTimestamp | tail -30
\`\`\`

## 处理方法

- 总是同一个节点：执行 \`hai admin cordon NODE\`，并查看其内核日志。
- 某个用户的 \`supervisor_killed\`：任务使用的内存超过节点的内存，或终止了自己的父进程。
- 多个节点同时发生：网络、电源，或集群升级驱逐了 Pod。`,
  HaiSchedulerSilent: `# HaiSchedulerSilent

调度器没有做出任何决定。

## 含义

要么调度循环已有一分钟没有成功完成任何周期，要么 Prometheus 完全无法读取服务的指标。运行中的任务会继续并保存；但没有任务启动，没有任务收到退出通知，新提交的任务只能等待。

## 在哪里查看

\`\`\`
curl -s https://HUB/services/hai/api/v1/health          # \`detail\` 说明原因，\`last_tick_s\` 说明从何时开始
kubectl -n hai get pods
kubectl -n hai logs deployment/scheduler --tail=50      # 单机运行时：状态目录中的 logs/scheduler.log
kubectl -n hai logs deployment/api --tail=50            # 单机运行时：logs/api.log
\`\`\`

如果没有设置 \`scheduler.separate\`，两者都在 Hub 的 Pod 中：\`deployment/hub\`。

## 处理方法

- *The state database does not answer*（状态数据库没有应答）：恢复 PostgreSQL；调度循环会自行继续。
- *The cluster cannot be seen*（看不到集群）：检查 API 服务器，并参见 [HaiClusterErrors](HaiClusterErrors.md)。
- 调度循环的 Pod 反复重启：其日志写明它拒绝哪项设置或哪个表。\`kubectl -n hai rollout undo deployment/scheduler\` 可恢复到之前的版本，除非数据库表已经迁移。
- 健康状况为 \`ok\`：Prometheus 无法访问服务，或其令牌被拒绝（在其目标列表中显示 401、403）。`,
  HaiStartsStuck: `# HaiStartsStuck

任务已启动却没有就绪。

## 含义

调度循环做出了决定，但启动的任务没有就绪：任务停留在 \`starting\` 状态，其节点在此期间什么也不做。

## 在哪里查看

\`\`\`
hai list --all-users --state starting
hai status TASK                                         # 第一个 rank 在等待什么（集群的原话）
kubectl -n hai-work get pods | grep -v Running
kubectl -n hai-work describe pod POD                    # 末尾的事件
\`\`\`

## 处理方法

- 无法拉取镜像：检查镜像仓库、其 Secret，或环境中的镜像名称。
- \`Unschedulable\`：其他对象占用了各 rank 需要的资源；参见[设置](../reference/settings.md)中的 \`cpu_reserve\` 和 \`memory_reserve\`。
- 卷没有挂载：检查 PersistentVolumeClaim 或文件服务器。
- [运维手册](../operations.md#a-task-that-does-not-come-up-on-kubernetes)列出了集群的各种提示及其含义。无需手动启动任何任务：调度循环会重试。`,
  HaiTurnsTooShort: `# HaiTurnsTooShort

任务过于频繁地为同等任务让出节点。

## 含义

一小时内，任务为同等任务收到退出通知的次数达到了 \`max_rotations\` 的上限：任务数量超出了这种长度的轮次所能良好服务的范围。

## 在哪里查看

\`\`\`
hai policy
hai list --all-users --state running
\`\`\`

## 处理方法

- 延长轮次：\`hai admin policy set slice=1h\`。[策略参数](../policy-numbers.md)说明如何选择，\`hai sim compare\` 可以先试算。
- 减少同时的任务：降低配额。`,
  HaiWaitsLong: `# HaiWaitsLong

紧急任务等待超过一小时。

## 含义

优先级为 HIGH 及以上的轮次中，有十分之一等待了一小时以上。这类任务会中断较低优先级的任务，因此长时间等待说明它们在等待彼此、等待配额，或等待并不存在的节点。

## 在哪里查看

\`\`\`
hai list --all-users --state queued
hai explain TASK                                        # 对于等待中的任务：该句说明原因
hai nodes                                               # 有多少节点丢失、被封锁或被隔离？
hai admin quota list
\`\`\`

仪表板 *HAI / Capacity and waiting* 显示从何时开始、发生在哪个优先级。

## 处理方法

- 配额不足：暂时提高配额，\`hai admin quota set user:bob HIGH 8 --for 2d\`；或保持不变：那么这样的等待正是事先约定的结果。
- 过多任务成为紧急任务：降低 HIGH 的配额，让用户做出取舍。
- 缺少节点：参见 [HaiNodesLost](HaiNodesLost.md)、[HaiNodesQuarantined](HaiNodesQuarantined.md)。
- 运行退出缓慢：参见 [HaiNoticesCut](HaiNoticesCut.md)。否则是集群太小，无法完成全部工作；\`hai sim\` 会说明增加节点能带来什么。`
};
