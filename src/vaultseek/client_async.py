"""The former import path of ``vaultseek.client.AsyncClient``, kept for programs that use it."""

from vaultseek.client.asynchronous import AsyncClient as AsyncClient
