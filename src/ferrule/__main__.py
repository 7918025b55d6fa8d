"""`python -m ferrule`: the command line."""

from ferrule.cli import main

if __name__ == "__main__":
    main()
