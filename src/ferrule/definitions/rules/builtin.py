"""The readable table of contents of all rules. Strings load on first use, so checking one file stays quick."""

RULE_SETS = {
    "aml.tool": "ferrule.definitions.rules.aml.tool:RULES",
    "aml.agent": "ferrule.definitions.rules.aml.agent:RULES",
    "aml.role": "ferrule.definitions.rules.aml.role:RULES",
    "aml.collection": "ferrule.definitions.rules.aml.role:COLLECTION_RULES",
    "adl.manifest": "ferrule.definitions.rules.adl.manifest:RULES",
    "oxp.tool": "ferrule.definitions.rules.oxp.tool:RULES",
    "oxp.catalog": "ferrule.definitions.rules.oxp.tool:CATALOG_RULES",
    "agent_tool.declaration": "ferrule.definitions.rules.agent_tool.rule_sets:DECLARATION_RULES",
    "agent_tool.interface": "ferrule.definitions.rules.agent_tool.rule_sets:INTERFACE_RULES",
    "agent_tool.execution_profile": "ferrule.definitions.rules.agent_tool.rule_sets:EXECUTION_RULES",
    "agent_tool.permission_profile": "ferrule.definitions.rules.agent_tool.rule_sets:PERMISSION_RULES",
    "agent_tool.scheduler_policy": "ferrule.definitions.rules.agent_tool.rule_sets:SCHEDULER_RULES",
    "agent_tool.surface": "ferrule.definitions.rules.agent_tool.rule_sets:SURFACE_RULES",
}
"""Rules of one kind of definition."""

LIBRARY_RULES = {
    "aml": "ferrule.definitions.rules.aml.library:LIBRARY_RULES",
    "oxp": "ferrule.definitions.rules.oxp.library:LIBRARY_RULES",
    "agent_tool": "ferrule.definitions.rules.agent_tool.library:LIBRARY_RULES",
}
"""Rules about several files at once, by standard: tuples of rules."""

COMPAT_RULES = {
    "compat": "ferrule.definitions.rules.compat.pages:COMPAT_RULES",
}
"""Rules about what was published and what would be: tuples of rules."""

PAGES = {
    "aml": "ferrule.definitions.rules.aml.pages:PAGES",
    "adl": "ferrule.definitions.rules.adl.pages:PAGES",
    "oxp": "ferrule.definitions.rules.oxp.pages:PAGES",
    "agent_tool": "ferrule.definitions.rules.agent_tool.pages:PAGES",
    "compat": "ferrule.definitions.rules.compat.pages:PAGES",
    "ferrule": "ferrule.definitions.rules.own:PAGES",
}
"""Documentation of every rule, by standard: tuples of RuleInfo."""

FIXERS = {
    "aml": "ferrule.definitions.rules.aml.fixes:FIXERS",
    "adl": "ferrule.definitions.rules.adl.fixes:FIXERS",
    "oxp": "ferrule.definitions.rules.oxp.fixes:FIXERS",
    "agent_tool": "ferrule.definitions.rules.agent_tool.fixes:FIXERS",
}
"""What `ferrule check --fix` can mend, by dialect."""
