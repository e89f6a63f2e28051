"""The signatures and help of the commands.

These modules import typer and nothing heavy, so that `--help` is quick; what a command does stands in
`gateway.cli.run` and is imported when it is run.
"""
