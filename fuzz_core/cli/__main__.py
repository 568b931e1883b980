"""`python -m fuzz_core.cli`: the command line without its console script."""

from fuzz_core.cli.main import main

if __name__ == "__main__":
    main()
