"""`python -m gateway.demo [FILE]`."""

import sys

from gateway.cli.main import main

sys.argv[1:1] = ["demo"]
main()
