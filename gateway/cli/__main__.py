"""`python -m gateway.cli`, for where the installed command is not on the path."""

from gateway.cli.main import main

main()
