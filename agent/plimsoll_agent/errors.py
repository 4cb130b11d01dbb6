"""Errors from outside the agent.

- AgentError
  - ApiError                 the API server refused a request or was not reached
  - DeviceError              the driver, or a GPU, failed a request
"""


class AgentError(Exception):
    """The root; its message is fit to be shown."""


class ApiError(AgentError):
    """No response, or a refusal; `status` is the HTTP status, 0 without a response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


class DeviceError(AgentError):
    """An error of NVML, in its words."""
