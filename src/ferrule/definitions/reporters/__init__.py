"""One file per report format of diagnostics: text, JSON, SARIF, GitHub annotations, JUnit.

`builtin.py` lists them. They implement `contracts/reporter.py` and import `contracts` and `model`. They do not know how
a diagnostic was found.
"""
