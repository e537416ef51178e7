"""The command line, as ``python -m ranklake``."""

from ranklake.flows.cli.main import main

if __name__ == "__main__":
    main()
