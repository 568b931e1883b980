"""`python -m fuzz_core.cli`: the command line without its console script."""

from fuzz_core.cli.app import main

if __name__ == "__main__":
    main()
