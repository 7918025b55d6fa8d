"""Ferrule fastens tools to agents: definition files in, diagnostics and a sealed catalog out.

The public names load on first use, so `import ferrule` costs almost nothing.
"""

__version__ = "0.1.0"
