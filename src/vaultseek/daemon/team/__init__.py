"""The server of a team: access rights, quotas, the audit log, and metrics."""
