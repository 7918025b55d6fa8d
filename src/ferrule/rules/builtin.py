"""The readable table of contents of all rules. Strings load on first use, so checking one file stays quick."""

RULE_SETS = {
    "aml.tool": "ferrule.rules.aml.tool:RULES",
    "aml.agent": "ferrule.rules.aml.agent:RULES",
    "aml.role": "ferrule.rules.aml.role:RULES",
    "aml.collection": "ferrule.rules.aml.role:COLLECTION_RULES",
    "adl.manifest": "ferrule.rules.adl.manifest:RULES",
    "oxp.tool": "ferrule.rules.oxp.tool:RULES",
    "oxp.catalog": "ferrule.rules.oxp.tool:CATALOG_RULES",
    "agent_tool.declaration": "ferrule.rules.agent_tool.declaration:RULES",
    "agent_tool.interface": "ferrule.rules.agent_tool.interface:RULES",
    "agent_tool.execution_profile": "ferrule.rules.agent_tool.profiles:EXECUTION_RULES",
    "agent_tool.permission_profile": "ferrule.rules.agent_tool.profiles:PERMISSION_RULES",
    "agent_tool.scheduler_policy": "ferrule.rules.agent_tool.profiles:SCHEDULER_RULES",
    "agent_tool.surface": "ferrule.rules.agent_tool.surface:RULES",
}
"""Rules of one kind of definition."""

LIBRARY_RULES = {
    "aml": "ferrule.rules.aml.library:LIBRARY_RULES",
    "oxp": "ferrule.rules.oxp.library:LIBRARY_RULES",
    "agent_tool": "ferrule.rules.agent_tool.library:LIBRARY_RULES",
}
"""Rules about several files at once, by standard: tuples of rules."""

COMPAT_RULES = {
    "compat": "ferrule.rules.compat.pages:COMPAT_RULES",
}
"""Rules about what was published and what would be: tuples of rules."""

PAGES = {
    "aml": "ferrule.rules.aml.pages:PAGES",
    "adl": "ferrule.rules.adl.pages:PAGES",
    "oxp": "ferrule.rules.oxp.pages:PAGES",
    "agent_tool": "ferrule.rules.agent_tool.pages:PAGES",
    "compat": "ferrule.rules.compat.pages:PAGES",
    "ferrule": "ferrule.rules.own:PAGES",
}
"""Documentation of every rule, by standard: tuples of RuleInfo."""

FIXERS = {
    "aml": "ferrule.rules.aml.fixes:FIXERS",
    "adl": "ferrule.rules.adl.fixes:FIXERS",
    "oxp": "ferrule.rules.oxp.fixes:FIXERS",
    "agent_tool": "ferrule.rules.agent_tool.fixes:FIXERS",
}
"""What `ferrule check --fix` can mend, by dialect."""
