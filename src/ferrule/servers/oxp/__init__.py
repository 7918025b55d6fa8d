"""A workspace as an OXP 1.0 tool server: health, tools, calls, and authorization challenges (OXP-19 to OXP-50)."""
