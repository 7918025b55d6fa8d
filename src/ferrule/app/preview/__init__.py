"""Answers questions about calls that are not made: what policy would say, and which tools a caller could reach.

It imports the engines and the layers below. It runs no tool, writes no row, and does not know HTTP or terminals.
"""
