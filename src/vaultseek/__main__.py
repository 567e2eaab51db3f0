"""``python -m vaultseek`` and the console script."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from vaultseek.doors.cli.main import run

    run()


if __name__ == "__main__":
    main()
