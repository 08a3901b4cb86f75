"""`python -m stenograph` is `steno`."""

from stenograph.cli import main

if __name__ == "__main__":
    main()
