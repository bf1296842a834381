"""`python -m hai_spawner.containers.singleuser`: run a JupyterLab server, which starts sooner so."""

from __future__ import annotations

from hai_client.lean_imports import imports_for_good, leave_out_address_checks


def main() -> None:
    """Run the server in this process."""
    leave_out_address_checks()
    with imports_for_good():
        from jupyterhub.singleuser import main as run

    run()


if __name__ == "__main__":
    main()
