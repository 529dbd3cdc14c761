"""Starts the side-car: beside the package, so that the caller's working directory is not on sys.path."""

from cutegen_oracle.__main__ import main

if __name__ == "__main__":
    main()
