"""The command `plimsoll completion` and its options."""

import argparse
import sys

NAME = "completion"
ABOUT = "print a script that lets a shell complete commands, options and names"
EXAMPLE = "bash"
_SHELLS = ("bash", "zsh", "fish")
_MORE = """\
Names of jobs, queues, namespaces and contexts come from your cluster, if it
answers within two seconds and you may list them.

Put one of these where your shell starts (~/.bashrc, ~/.zshrc,
~/.config/fish/config.fish):
  source <(plimsoll completion bash)
  source <(plimsoll completion zsh)
  plimsoll completion fish | source

kubectl completes its plugin by the program kubectl_complete-plimsoll, which is
installed with this one; kubectl's own completion must be set up.
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    from plimsoll.cli.completion.scripts import SCRIPTS  # noqa: PLC0415 - as of other commands

    sys.stdout.write(SCRIPTS[options.shell])
