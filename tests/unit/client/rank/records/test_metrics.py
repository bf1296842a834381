"""What a rank uses, on its way to the service: each point once, whatever happens to requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_client.metrics.sampler import Sampler
from hai_client.rank.records.metrics import EVERY_S, KEPT, LONGEST_S, PIECE, RankMetrics, readers_of
from hai_client.rank.records.reported import Reported
from hai_client.rank.shared.api import Answer, Unreachable
from hai_client.reporting import Reporter


class Service:
    """Keeps the points that it is sent, as the real one does, and answers as it is told to."""

    def __init__(self, *troubles: int | str, after: object = None) -> None:
        self.ends: list[int] = []
        self.progress: list[object] = []
        self.after = after
        self._troubles = list(troubles)

    def send_metrics(
        self, points: list[dict[str, object]], patience: float, progress: dict[str, object] | None = None
    ) -> Answer:
        assert patience > 0
        self.progress.append(None if progress is None else progress["step"])
        trouble = self._troubles.pop(0) if self._troubles else 200
        if trouble == "away":
            raise Unreachable("ConnectionRefusedError")
        if trouble == 200 or trouble == "lost":
            newest = self.ends[-1] if self.ends else 0
            self.ends += [at for point in points if isinstance(at := point["at"], int) and at > newest]
        if trouble == "lost":
            raise Unreachable("the answer was lost")
        assert isinstance(trouble, int)
        return Answer(trouble, {} if self.after is None else {"after": self.after})


def metrics(service: Service, points: int) -> RankMetrics:
    one = RankMetrics(service, [])  # type: ignore[arg-type]
    one._points.extend({"at": 10 * number, "values": {}} for number in range(1, points + 1))
    return one


@pytest.mark.parametrize("trouble", ["away", "lost", 500, 503, 401, 429, 408])
def test_points_are_kept_until_they_are_stored_and_are_stored_once(trouble: int | str) -> None:
    service = Service(trouble)
    one = metrics(service, 3)
    with pytest.raises(Unreachable):
        one._send()
    assert one._send() == EVERY_S
    assert service.ends == [10, 20, 30]
    assert not one._points


@pytest.mark.parametrize("refusal", [400, 404, 410, 422, 501])
def test_what_is_refused_for_good_is_not_sent_again(refusal: int) -> None:
    one = metrics(Service(refusal), 3)
    one._send()
    assert not one._points


def test_a_long_queue_is_sent_piece_by_piece_without_a_rest() -> None:
    service = Service()
    one = metrics(service, PIECE + 5)
    assert one._send() == 0
    assert len(one._points) == 5
    assert one._send() == EVERY_S
    assert service.ends == [10 * number for number in range(1, PIECE + 6)]


@pytest.mark.parametrize(
    ("after", "rest"), [(None, EVERY_S), (0, EVERY_S), (90.5, 90.5), (1e9, LONGEST_S), ("soon", EVERY_S)]
)
def test_the_service_says_when_the_next_piece_is_wanted(after: object, rest: float) -> None:
    assert metrics(Service(after=after), 1)._send() == rest


def test_a_service_that_is_away_for_long_costs_the_oldest_points() -> None:
    one = metrics(Service(), KEPT + 10)
    assert len(one._points) == KEPT
    assert one._points[0]["at"] == 110


def test_progress_is_sent_until_it_is_stored_and_then_when_it_is_new(tmp_path: Path) -> None:
    service = Service("lost")
    reported = Reported(str(tmp_path), None, print)
    one = RankMetrics(service, [], reported)  # type: ignore[arg-type]
    one._points.extend({"at": 10 * number, "values": {}} for number in range(1, 4 * PIECE))
    reported.progress = {"step": 1}
    with pytest.raises(Unreachable):
        one._send()
    one._send()
    one._send()
    reported.progress = {"step": 2}
    one._send()
    assert service.progress == [1, 1, None, 2]


def test_the_last_report_goes_with_the_last_points(tmp_path: Path) -> None:
    service = Service()
    one = RankMetrics(service, [], Reported(str(tmp_path), None, print))  # type: ignore[arg-type]
    Reporter(tmp_path / "progress").report(7, loss=1e-5)
    one.last_look()
    assert one.finish(60)
    assert (service.progress, len(service.ends)) == ([7], 1)


def test_progress_of_a_command_too_short_to_be_measured_is_sent(tmp_path: Path) -> None:
    service = Service("away")
    one = RankMetrics(service, [], Reported(str(tmp_path), None, print))  # type: ignore[arg-type]
    Reporter(tmp_path / "progress").report(7)
    one.last_look()
    assert one.finish(60)
    assert (service.progress, service.ends) == ([7, 7], [])


def test_a_point_that_was_dropped_while_it_was_sent_takes_no_other_with_it() -> None:
    class Slow(Service):
        def send_metrics(
            self, points: list[dict[str, object]], patience: float, progress: dict[str, object] | None = None
        ) -> Answer:
            answer = super().send_metrics(points, patience, progress)
            one._points.extend({"at": 10**6 + number, "values": {}} for number in range(3))
            return answer

    one = metrics(Slow(), KEPT)
    one._send()
    assert one._points[0]["at"] == 10 * (PIECE + 1)


class Fixed:
    def read(self, now: float) -> dict[str, float]:
        return {"cpu": now}


def test_the_last_points_are_sent_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service("away", "lost")
    one = RankMetrics(service, [Fixed()])  # type: ignore[arg-type]
    times = [1700000001.0]
    one._sampler = Sampler([Fixed()], one._keep, lambda: times[-1])
    monkeypatch.setattr("hai_client.rank.records.metrics.FIRST_PAUSE_S", 0.01)
    one.step(1.0)
    times.append(1700000011.0)
    one.step(2.0)
    assert one.finish(60)
    assert service.ends == [1700000010, 1700000020]


def test_a_short_rank_without_points_ends_at_once() -> None:
    assert RankMetrics(Service(), []).finish(0)  # type: ignore[arg-type]


def test_a_pod_is_read_by_its_network_too() -> None:
    nothing = {"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": ""}
    assert [type(reader).__name__ for reader in readers_of(nothing, pod=False)] == ["TreeReader", "GpuReader"]
    assert [type(reader).__name__ for reader in readers_of(nothing, pod=True)][1:] == ["NetworkReader", "GpuReader"]
