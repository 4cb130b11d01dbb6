"""The command `plimsoll ui` and its options."""

import argparse

from plimsoll.cli.inputs.options import add_connection

NAME = "ui"
ABOUT = "open the console's page in a browser"
EXAMPLE = "-n plimsoll-system"
_MORE = """\
Forwards a local port to the console through the API server, as kubectl
port-forward does, and opens the page there with the token of your kubeconfig.
It shows what you may see. Ctrl-C ends it.

The token is in the part of the address that browsers send to nobody, and the
page takes it out of there. It is kept for the tab alone.

Rights: to list pods, and to get and create pods/portforward, where the console
runs. Without the right to list pods everywhere, name its namespace with -n.

examples:
  plimsoll ui
  plimsoll ui -n plimsoll-system --no-browser
"""


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.epilog = _MORE
    add_connection(parser)
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="the console's namespace (default: any)"
    )
    parser.add_argument(
        "--port", metavar="PORT", type=int, default=0, help="local port (default: any free one)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, token included, instead"
    )


def run(options: argparse.Namespace) -> None:
    """Open the page. Raises BadInput."""
    # The client takes a moment to import; --help should not wait for it.
    from plimsoll.cli.console.opening import open_page  # noqa: PLC0415

    open_page(options)
