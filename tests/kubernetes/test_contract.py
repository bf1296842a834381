"""The contract suite of the Cluster port on a real cluster: on its own kubelets, and on stand-ins of today's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

# The tests are collected here with the fixtures of this folder. Left out is what speaks of the nodes of the settings:
# here nodes are the cluster's own (test_nodes.py).
from contract.test_cluster import (  # noqa: F401
    test_a_command_that_does_not_exist_is_the_users,
    test_a_gpu_that_the_node_does_not_have_is_the_platforms,
    test_a_launch_and_a_kill_at_the_same_time_leave_nothing_running,
    test_a_live_run_is_not_forgotten,
    test_a_node_that_does_not_exist_is_the_platforms,
    test_a_rank_is_pending_or_running_until_it_has_ended,
    test_a_run_has_addresses_when_all_of_it_is_up,
    test_a_run_that_a_later_one_has_followed_is_not_started_by_a_late_launch,
    test_a_run_that_was_killed_and_never_launched_is_no_trouble_and_can_be_forgotten,
    test_a_run_that_was_killed_before_its_launch_is_never_started,
    test_a_run_that_was_killed_is_not_started_by_a_late_launch,
    test_an_unknown_run_has_no_addresses,
    test_changes_wakes_up_when_a_rank_ends,
    test_every_rank_runs_and_ends_with_the_status_of_its_command,
    test_kill_ends_every_rank,
    test_kill_ends_what_ignores_sigterm_too,
    test_kill_of_ended_and_of_unknown_runs_changes_nothing,
    test_kill_right_after_launch_ends_it_whether_or_not_it_has_started,
    test_launches_at_the_same_time_start_no_rank_twice_and_lose_none,
    test_repeating_a_launch_starts_no_rank_twice,
    test_runs_go_on_while_the_service_is_away_and_are_found_again,
    test_two_runs_share_a_node_and_see_other_devices,
    test_what_a_job_reports_is_observed,
)
from contract.test_cluster_logs import (  # noqa: F401
    test_a_forgotten_run_is_gone_with_its_log,
    test_a_log_is_read_from_any_offset_in_whole_lines,
    test_a_settled_run_keeps_its_log,
    test_an_order_to_end_a_settled_run_that_comes_late_leaves_its_log_readable,
    test_logs_of_unknown_runs_and_ranks_are_not_found,
    test_the_log_of_a_live_rank_is_not_final,
)
from contract.test_cluster_starts import (  # noqa: F401
    test_a_gang_that_is_killed_while_only_part_of_it_runs_has_ended_and_no_node_is_to_blame,
    test_a_launch_that_broke_off_is_completed_by_the_next,
    test_a_run_that_is_killed_before_it_starts_has_ended_and_no_node_is_to_blame,
)
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.place import Place
from kit.kubernetes.stand_in_harness import StandInHarness

KUBELETS: dict[str, type[KubernetesHarness]] = {"real kubelets": KubernetesHarness, "since 1.27": StandInHarness}
#: What the stand-ins are not asked: there is no supervisor in their pods, and no command.
NEEDS_PROCESSES = {
    "test_a_command_that_does_not_exist_is_the_users": "that a command is not there is found by the supervisor",
    "test_a_log_is_read_from_any_offset_in_whole_lines": "the lines of a log are made by the supervisor",
}


@pytest.fixture(params=sorted(KUBELETS))
async def harness(request: pytest.FixtureRequest, place: Place) -> AsyncIterator[KubernetesHarness]:
    if KUBELETS[request.param] is StandInHarness and (why := NEEDS_PROCESSES.get(request.node.originalname)):
        pytest.skip(f"it takes real processes: {why}")
    harness = KUBELETS[request.param](place)
    await harness.start()
    yield harness
    await harness.close()
