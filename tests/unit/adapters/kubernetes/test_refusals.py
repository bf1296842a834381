"""A right that is missing, something that passes, and a no to what was asked: in the API servers' own words."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from hai_scheduler.adapters.kubernetes.client import ApiForbidden, ApiRefused
from hai_scheduler.adapters.kubernetes.refusals import Meaning, meaning_of
from hai_scheduler.adapters.kubernetes.remedies import told
from hai_scheduler.core.model.run import Blame
from hai_scheduler.ports.errors import Temporary
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one

RIGHT, PASSING, DENIED = Meaning.RIGHT, Meaning.PASSING, Meaning.DENIED
USER = 'User "system:serviceaccount:hai:hub"'
NAMESPACE = 'in API group "" in the namespace "hai-work"'
POLICY = "ValidatingAdmissionPolicy 'images.example.com' with binding 'images-binding' denied request"

TEXTS = {
    # RBAC, the same in 1.20 and 1.32; the end is there when a rule could not be resolved.
    "rbac": (403, f'pods is forbidden: {USER} cannot create resource "pods" {NAMESPACE}', RIGHT),
    "rbac, named": (403, f'secrets "hai-1-1" is forbidden: {USER} cannot get resource "secrets" {NAMESPACE}', RIGHT),
    "rbac, subresource": (403, f'pods "x" is forbidden: {USER} cannot get resource "pods/log" {NAMESPACE}', RIGHT),
    "rbac, cluster": (
        403,
        f'nodes is forbidden: {USER} cannot list resource "nodes" in API group "" at the cluster scope',
        RIGHT,
    ),
    "rbac, other group": (
        403,
        (
            f'deployments.apps is forbidden: {USER} cannot list resource "deployments" in API group "apps" in the '
            'namespace "x": RBAC: clusterrole.rbac.authorization.k8s.io "y" not found'
        ),
        RIGHT,
    ),
    "namespace ends": (
        403,
        (
            'pods "hai-1-1-0" is forbidden: unable to create new content in namespace hai-work because it is being '
            "terminated"
        ),
        PASSING,
    ),
    "account not yet": (
        403,
        (
            'pods "hai-1-1-0" is forbidden: error looking up service account hai-work/hai-task: '
            'serviceaccount "hai-task" not found'
        ),
        PASSING,
    ),
    "account without a token, before 1.24": (
        403,
        (
            'pods "hai-1-1-0" is forbidden: no API token found for service account hai-work/hai-task, retry after the '
            "token is automatically created and added to the service account"
        ),
        PASSING,
    ),
    "quota not counted yet": (
        403,
        'pods "hai-1-1-0" is forbidden: status unknown for quota: compute, resources: pods',
        PASSING,
    ),
    "quota": (
        403,
        (
            'pods "hai-1-1-0" is forbidden: exceeded quota: compute, requested: requests.cpu=4, used: requests.cpu=8, '
            "limited: requests.cpu=10"
        ),
        DENIED,
    ),
    "quota wants limits, 1.20": (403, 'pods "x" is forbidden: failed quota: compute: must specify limits.cpu', DENIED),
    "quota wants limits, 1.32": (
        403,
        'pods "x" is forbidden: failed quota: compute: must specify limits.cpu for: rank; limits.memory for: rank',
        DENIED,
    ),
    "limit range": (
        403,
        'pods "x" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi',
        DENIED,
    ),
    "pod security": (
        403,
        (
            'pods "x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes (volume "mount-0"), '
            'restricted volume types (volume "mount-0" uses restricted volume type "hostPath")'
        ),
        DENIED,
    ),
    "pod security policy, 1.20": (
        403,
        (
            'pods "x" is forbidden: PodSecurityPolicy: unable to admit pod: '
            '[spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used]'
        ),
        DENIED,
    ),
    "priority class": (403, 'pods "x" is forbidden: no PriorityClass with name high was found', DENIED),
    "webhook": (403, 'admission webhook "gate.example.com" denied the request: pods cannot use this image', DENIED),
    "webhook without a status": (400, 'admission webhook "gate.example.com" denied the request: no', DENIED),
    "webhook, 409": (409, 'admission webhook "gate.example.com" denied the request: it cannot be', DENIED),
    "webhook, 401": (401, 'admission webhook "gate.example.com" denied the request without explanation', DENIED),
    "webhook that quotes RBAC": (
        403,
        f'admission webhook "gate.example.com" denied the request: {USER} cannot create resource "pods"',
        DENIED,
    ),
    "policy": (422, f'pods "x" is forbidden: {POLICY}: it cannot run as this user', DENIED),
    "policy, forbidden": (403, f'pods "x" is forbidden: {POLICY}: failed expression: object.spec.x', DENIED),
    "policy, unauthorized": (401, f'pods "x" is forbidden: {POLICY}: you cannot', DENIED),
    "policy, before 1.28": (422, f"{POLICY}: failed expression: object.spec.x", DENIED),
    "invalid": (422, 'Pod "x" is invalid: spec.containers[0].image: Required value', None),
    "credentials": (401, "Unauthorized", None),
    "conflict": (409, 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified', None),
    "webhook away": (500, 'Internal error occurred: failed calling webhook "gate.example.com": timeout', None),
}
CASES = pytest.mark.parametrize(("status", "message", "meaning"), TEXTS.values(), ids=TEXTS)


@CASES
def test_what_a_refusal_means(status: int, message: str, meaning: Meaning | None) -> None:
    assert meaning_of(status, message) is meaning


@pytest.mark.parametrize(
    ("case", "raised"),
    [
        ("rbac", ApiForbidden),
        ("namespace ends", Temporary),
        ("quota", ApiRefused),
        ("webhook", ApiRefused),
        ("webhook, 409", ApiRefused),
        ("webhook, 401", ApiRefused),
        ("policy", ApiRefused),
        ("policy, unauthorized", ApiRefused),
        ("invalid", ApiRefused),
        ("credentials", Temporary),
        ("conflict", Temporary),
        ("webhook away", Temporary),
    ],
)
async def test_what_is_raised_of_a_refusal(server, clock, case, raised) -> None:
    status, message, _ = TEXTS[case]
    server.fail("POST", "/pods", status, body=message, times=99)
    api = server.client(clock)
    with pytest.raises((ApiRefused, Temporary)) as error:
        await api.request("POST", "/api/v1/namespaces/runs/pods", body={"metadata": {"name": "x"}})
    await api.close()
    assert type(error.value) is raised
    assert message in str(error.value)
    busy = status == 500
    assert server.count("POST", "/pods") == (4 if busy else 1)


@pytest.mark.parametrize("case", ["quota", "pod security", "webhook", "policy", "policy, unauthorized", "limit range"])
async def test_what_admission_denies_is_shown_at_once_and_is_no_nodes_fault(server, cluster, case) -> None:
    status, message, _ = TEXTS[case]
    server.fail("POST", "/pods", status, body=message, times=99)
    await cluster.launch(a_launch())
    (rank,) = (await one(cluster)).ranks
    assert rank.start_error == told(message)
    assert rank.blame is Blame.NOBODY
    assert server.count("POST", "/pods") == 1


async def test_a_right_that_is_missing_takes_no_run_down_and_names_whose_task_it_is(server, cluster) -> None:
    status, message, _ = TEXTS["rbac"]
    server.fail("POST", "/pods", status, body=message)
    with pytest.raises(Temporary, match="lacks a right, which an admin must give it") as error:
        await cluster.launch(a_launch())
    assert message in str(error.value)
    assert (await one(cluster)).ranks == ()
    await cluster.launch(a_launch())
    assert len(server.objects["pods"]) == 1


async def test_a_gang_that_is_given_up_for_a_missing_right_says_so(server, cluster, clock) -> None:
    status, message, _ = TEXTS["rbac"]
    server.fail("POST", "/pods", status, body=message, times=99)
    with pytest.raises(Temporary):
        await cluster.launch(a_launch())
    clock.ahead = timedelta(minutes=11)

    async def why() -> str:
        try:
            runs = await cluster.observe()
        except Temporary:
            return ""
        return next((rank.start_error for run in runs for rank in run.ranks if rank.start_error), "")

    assert message in await until("the reason that the run did not start", why)
    assert json.loads(server.objects["services"]["hai-1-1"]["metadata"]["annotations"]["hai.jupyter.org/start-error"])
