"""The way of a note: compare with the disk, ingest, sync the keyword index, embed."""
