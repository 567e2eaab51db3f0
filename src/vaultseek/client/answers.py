"""Types of the daemon's answers, for annotations."""

from vaultseek.messages.answers import *  # noqa: F403
