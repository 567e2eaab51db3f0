"""vaultseek: a local daemon that searches Markdown vaults by word, by meaning and by link."""

__version__ = "0.2.0"
