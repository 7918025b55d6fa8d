"""What stands between Ferrule and a tool's function."""

from __future__ import annotations


class ContractError(Exception):
    """A function was written for another input or output than the tool now has."""


def expect_contract(written_for: str, wanted: str, file: str) -> None:
    """Raises ContractError where a file was written for something else."""
    if written_for != wanted:
        raise ContractError(
            f"{file} was written for contract {written_for}, and the tool now has"
            f" {wanted}: look at what it takes and gives in tools/_generated, mend the"
            f" function, then write {wanted} into its CONTRACT"
        )
