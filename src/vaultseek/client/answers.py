"""Types of the daemon's answers, for annotations in client programs."""

from vaultseek.protocol.messages.answers import *  # noqa: F403
