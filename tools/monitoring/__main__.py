"""Write the chart's dashboards and alerts again: `make monitoring`, and `make reference` does it too."""

from __future__ import annotations

from pathlib import Path

from monitoring.files import files

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write every file."""
    for name, text in files().items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
