"""What an API server of today refuses is said with value and remedy; nothing is lost, and no node is to blame."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.remedies import told
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.fabric_trials import FabricRefused
from kit.admission import Admission
from kit.builders import a_fabric, a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one
from unit.adapters.kubernetes.test_fabrics import tried

SCRATCH = Mount(kind=MountKind.HOST_PATH, source="/local/ssd", mount_path="/scratch", read_only=False)
GANG = ("node-1", "node-2")
HOST_PATH = 'restricted volume types (volume "mount-0" uses restricted volume type "hostPath")'
RESTRICTED = Admission(standard="restricted:latest")


def wants_a_team(pod: dict[str, Any]) -> str:
    return "" if "team" in pod["metadata"]["labels"] else "every pod needs a label team"


#: The rules, what is launched, and what the sentence holds: the server's field and value, and the remedy.
CASES: dict[str, tuple[Admission, LaunchOrder, list[str]]] = {
    "a folder of the node": (
        RESTRICTED,
        a_launch(mounts=(SCRATCH,)),
        [
            f'violates PodSecurity "restricted:latest": {HOST_PATH}',
            "`hai admin mounts set`",
            "workloads.podSecurity",
        ],
    ),
    "the network of the node": (
        RESTRICTED,
        a_launch(nodes=GANG, fabric=a_fabric(resources={}, host_network=True)),
        ["host namespaces (hostNetwork=true)", "`hai admin fabrics put`", "workloads.podSecurity"],
    ),
    "a label that a policy wants": (
        Admission(policies={"team.example.com": wants_a_team}),
        a_launch(),
        ["every pod needs a label team", "as the policy team.example.com says", "KubernetesSettings.extra_labels"],
    ),
    "a quota of pods, for half of a gang": (
        Admission(quotas={"objects": {"count/pods": "1"}}),
        a_launch(nodes=GANG),
        ["exceeded quota: objects, requested: count/pods=1, used: count/pods=1", "raise the ResourceQuota objects"],
    ),
    "a quota of processors": (
        Admission(quotas={"compute": {"requests.cpu": "10"}}),
        a_launch(),
        ["used: requests.cpu=0, limited: requests.cpu=10", "raise the ResourceQuota compute"],
    ),
    "a quota of services": (
        Admission(quotas={"objects": {"count/services": "0"}}),
        a_launch(),
        ['services "hai-1-1" is forbidden: exceeded quota: objects', "raise the ResourceQuota objects"],
    ),
    "a quota of secrets": (
        Admission(quotas={"objects": {"count/secrets": "0"}}),
        a_launch(),
        ['secrets "hai-1-1" is forbidden: exceeded quota: objects', "raise the ResourceQuota objects"],
    ),
    "the largest size of a LimitRange": (
        Admission(limits={"max": {"memory": "100Gi"}}),
        a_launch(),
        ["maximum memory usage per Container is 100Gi, but limit is", "change memory in the LimitRange"],
    ),
    "the smallest size of a LimitRange": (
        Admission(limits={"min": {"cpu": "60"}}),
        a_launch(),
        ["minimum cpu usage per Container is 60, but request is", "change cpu in the LimitRange"],
    ),
    "the default of a LimitRange": (
        Admission(limits={"default": {"cpu": "2"}}),
        a_launch(),
        ["must be less than or equal to cpu limit of 2", "take its default for cpu away"],
    ),
}


@pytest.mark.parametrize(("rules", "launch", "said"), CASES.values(), ids=CASES)
async def test_what_admission_refuses_is_said_with_its_remedy_and_starts_once_it_is_taken(
    server, cluster, rules, launch, said
) -> None:
    server.admission = rules
    await cluster.launch(launch)
    shown = await until("the run to end", lambda: all_gone(cluster))
    told_of = {rank.start_error: rank.blame for rank in shown.ranks if rank.start_error}
    assert [*told_of.values()] == [Blame.NOBODY]
    (sentence,) = told_of
    assert [words for words in said if words not in sentence] == []
    await cluster.finalize(launch.run_id)
    await until("nothing to be left", lambda: not (server.objects["pods"] or server.objects["services"]))

    server.admission = Admission()
    await cluster.launch(replace(launch, run_id=RunId("1.2")))
    assert len(server.objects["pods"]) == len(launch.nodes)


async def all_gone(cluster: Any) -> Any:
    shown = await one(cluster)
    return shown if all(rank.state is RankState.EXITED for rank in shown.ranks) else None


async def test_the_trial_of_a_fabric_says_what_the_standard_forbids(server, clock) -> None:
    server.admission = RESTRICTED
    with pytest.raises(FabricRefused, match=r"host namespaces \(hostNetwork=true\).*workloads.podSecurity: privileged"):
        await tried(server, clock, a_fabric(resources={}, host_network=True))


POD = 'pods "x" is forbidden: '
STANDARD = f'{POD}violates PodSecurity "restricted:latest": '
#: Part of the remedy, and what is refused.
TOLD = [
    ("hai admin mounts", f'{POD}violates PodSecurity "baseline:v1.34": hostPath volumes (volume "mount-0")'),
    ("hai admin fabrics put", f"{STANDARD}host namespaces (hostNetwork=true), {HOST_PATH}"),
    (
        "change the fabric of the group",
        f'{STANDARD}unrestricted capabilities (container "rank" must not include "IPC_LOCK" in securityContext)',
    ),
    (
        "hai admin mounts",
        f'{POD}PodSecurityPolicy: unable to admit pod: [spec.volumes[0]: Invalid value: "hostPath": hostPath volumes]',
    ),
    ("the webhook gate.example.com", 'admission webhook "gate.example.com" denied the request: exceeded quota: x'),
    ("the ResourceQuota compute wants", f"{POD}failed quota: compute: must specify limits.cpu for: rank"),
    (
        "change memory in the LimitRange",
        f"{POD}memory max limit to request ratio per Container is 2, but provided ratio is 4.0",
    ),
    (
        "change cpu in the LimitRange",
        f"{POD}[maximum cpu usage per Container is 2, but limit is 4, maximum memory usage per Container is 1Gi]",
    ),
    ("KubernetesSettings.priority_class", f"{POD}no PriorityClass with name high was found"),
    ("an admin of the cluster can tell", 'Pod "x" is invalid: spec.containers[0].image: Required value'),
]


@pytest.mark.parametrize(("remedy", "message"), TOLD)
def test_each_refusal_has_its_remedy(remedy: str, message: str) -> None:
    said = told(message)
    assert said.startswith(f"Kubernetes refused it: {message}; ")
    assert remedy in said.removeprefix(f"Kubernetes refused it: {message}; ")


def test_of_long_words_the_remedy_is_left() -> None:
    message = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": ' + "host namespaces, " * 500
    assert told(message).endswith("workloads.podSecurity: privileged")
    assert len(json.dumps(told(message))) < 1000
