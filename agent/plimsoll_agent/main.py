"""The program `plimsoll-agent`."""

import sys

from plimsoll_agent.agent import Agent
from plimsoll_agent.logs import configure_logging, logger
from plimsoll_agent.probes import serve
from plimsoll_agent.settings import Settings


def main() -> int:
    """Run the agent until told to stop; return 0, or 2 if its settings are wrong."""
    try:
        settings = Settings.from_environment()
        configure_logging(settings.log_level)
        agent = Agent(settings)
    except (ValueError, OSError) as error:
        print(f"plimsoll-agent: {error}", file=sys.stderr)  # noqa: T201 - no logger yet
        return 2
    port = serve(
        settings.host,
        settings.port,
        alive=agent.problem_of_life,
        ready=agent.problem_of_readiness,
    )
    logger().info("started", node=settings.node_name, port=port)
    agent.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
