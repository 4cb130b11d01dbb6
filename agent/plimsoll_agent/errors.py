"""What can go wrong outside of the agent.

- AgentError
  - ApiError                 the API server did not do what was asked, or was not reached
  - DeviceError              the driver, or a GPU, did not do what was asked
"""


class AgentError(Exception):
    """The root; its message is fit to be shown."""


class ApiError(AgentError):
    """No answer, or one that says no; `status` is that of HTTP, 0 without an answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


class DeviceError(AgentError):
    """NVML's answer, in its words."""
