"""Network traffic."""

from __future__ import annotations

from pathlib import Path

from hai_client.metrics.network import NetworkReader

HEAD = "Inter-|   Receive                                                |  Transmit\n face |bytes ...\n"


def devices(tmp_path: Path, received: int, sent: int) -> str:
    file = tmp_path / "dev"
    file.write_text(
        f"{HEAD}    lo: 9999999 1 0 0 0 0 0 0 9999999 1 0 0 0 0 0 0\n"
        f"  eth0:{received} 5 0 0 0 0 0 0 {sent} 5 0 0 0 0 0 0\n"
        "  odd: x\n"
    )
    return str(file)


def port(tmp_path: Path, received: int, sent: int) -> str:
    folder = tmp_path / "infiniband/mlx5_0/ports/1/counters"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port_rcv_data").write_text(f"{received}\n")
    (folder / "port_xmit_data").write_text(f"{sent}\n")
    return str(tmp_path / "infiniband")


def test_rates_are_of_all_devices_but_the_loopback_and_infiniband_counts_words(tmp_path: Path) -> None:
    reader = NetworkReader(devices(tmp_path, 100, 200), port(tmp_path, 10, 20))
    assert reader.read(1.0) == {}
    devices(tmp_path, 300, 800)
    port(tmp_path, 60, 30)
    assert reader.read(3.0) == {"net_received": 100, "net_sent": 300, "ib_received": 100, "ib_sent": 20}


def test_a_machine_without_infiniband_has_no_such_figures(tmp_path: Path) -> None:
    reader = NetworkReader(devices(tmp_path, 1, 1), str(tmp_path / "nowhere"))
    reader.read(1.0)
    assert set(reader.read(2.0)) == {"net_received", "net_sent"}


def test_without_the_file_there_is_nothing(tmp_path: Path) -> None:
    reader = NetworkReader(str(tmp_path / "nowhere"), str(tmp_path / "nowhere"))
    reader.read(1.0)
    assert reader.read(2.0) == {}
