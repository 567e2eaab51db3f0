"""Parts of a vault that clients other than the user see."""
