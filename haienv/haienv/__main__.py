"""`python -m haienv` is `haienv`."""

from haienv.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
