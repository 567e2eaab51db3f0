"""The former import path of ``vaultseek.client.AsyncClient``, kept for existing programs."""

from vaultseek.client.asynchronous import AsyncClient as AsyncClient
