"""Types of the daemon's answers, for annotations."""

from vaultseek.protocol.messages.answers import *  # noqa: F403
