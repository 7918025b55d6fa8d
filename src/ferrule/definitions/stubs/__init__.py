"""Typed stubs: turns schemas into type trees and tools into a plan, and keeps the generated files on disk in step.

It imports `schema`, `contracts`, `model` and `errors`. It does not know the syntax of any language; `languages/` does.
"""
