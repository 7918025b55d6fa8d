"""Exceptions for the operator and for us. Mistakes in definitions are diagnostics, never exceptions.

FerruleError                 anything below; the command line prints it and exits with 2
├── SettingsError            ferrule.toml or a command-line option cannot be used as written
├── ExtraMissing             an optional package is not installed; also an ImportError
├── WorkspaceError           a path does not exist, or is not what a command needs
├── CatalogError             a catalog file cannot be used
│   └── SealError            its seal is missing, broken, or made with another key
├── BuildRefused             the definitions have errors, so no catalog was made
├── PolicyError              a policy cannot be used as written; every call is denied until it can
├── SurfaceError             a surface cannot be made as requested: an agent, role or record is unknown or disabled
├── AccessError              the caller may not do this
├── InboxError               a request cannot be answered this way: decided already, expired, changed, unknown
│   └── UnfitAnswer          the answer does not match what the tool asked for; nothing was recorded
├── BatchError               a batch cannot be run as written: an unknown dependency, a cycle, two calls with one id
├── BindingError             a Python function does not match the definition it is bound to
│   └── UnknownBinding       there is no such definition
└── LedgerError              the ledger cannot be used
    ├── LedgerDamaged        its contents cannot be read, or contradict each other: somebody or something changed them
    ├── LedgerUnavailable    it cannot be written now (disk full, disk error): nothing was recorded
    └── OutcomeUnrecorded    a write failed in a way that leaves it unknown whether the row is there
"""


class FerruleError(Exception):
    """Base of every exception Ferrule raises on purpose. The message says what to do next."""


class SettingsError(FerruleError):
    """A setting cannot be used as written."""


class ExtraMissing(FerruleError, ImportError):
    """An optional package is not installed. The message says who needs it and how to install it."""


class WorkspaceError(FerruleError):
    """A path does not exist or is not what the command needs."""


class CatalogError(FerruleError):
    """A catalog file cannot be used."""


class SealError(CatalogError):
    """A catalog's seal is missing, broken, or made with a key this workspace does not trust."""


class BuildRefused(FerruleError):
    """The definitions have errors; nothing was built."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report
        """The `Report` with the errors, where there is one."""


class PolicyError(FerruleError):
    """A policy cannot be used as written. Until it can, every call is refused."""


class SurfaceError(FerruleError):
    """A surface cannot be made as requested."""


class AccessError(FerruleError):
    """The caller may not do this."""


class InboxError(FerruleError):
    """A request cannot be answered this way."""


class UnfitAnswer(InboxError):
    """An answer does not match what the tool asked for."""


class BatchError(FerruleError):
    """A batch cannot be run as written."""


class BindingError(FerruleError):
    """A Python function does not match the definition it is bound to."""


class UnknownBinding(BindingError):
    """A Python function is bound to a definition that does not exist."""

    def __init__(self, label: str, name: str) -> None:
        super().__init__(
            f"{label} is bound to {name!r}, and no tool has that id or name; correct it, or write @tool()"
            " with facts to make a tool of the function itself"
        )
        self.label = label
        self.name = name


class LedgerError(FerruleError):
    """The ledger cannot be used."""


class LedgerDamaged(LedgerError):
    """The contents of the ledger cannot be read, or contradict each other."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be written now; the row was not recorded."""


class OutcomeUnrecorded(LedgerError):
    """A write failed in a way that leaves it unknown whether the row is there."""
