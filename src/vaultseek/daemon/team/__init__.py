"""A team's server: access rights, quotas, audit log and metrics."""
