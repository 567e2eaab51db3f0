"""Entry point of ``python -m vaultseek`` and of the console script."""


def main() -> None:
    """Run the command line and exit with its exit code."""
    from vaultseek.doors.cli.main import run

    run()


if __name__ == "__main__":
    main()
