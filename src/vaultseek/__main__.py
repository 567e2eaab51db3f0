"""``python -m vaultseek`` and the console script."""


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    from vaultseek.cli import run

    run()


if __name__ == "__main__":
    main()
