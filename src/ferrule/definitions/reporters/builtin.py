"""The output formats that come with Ferrule, by the word after `--format`."""

REPORTERS = {
    "text": "ferrule.definitions.reporters.text:REPORTER",
    "json": "ferrule.definitions.reporters.json:REPORTER",
    "sarif": "ferrule.definitions.reporters.sarif:REPORTER",
    "github": "ferrule.definitions.reporters.github:REPORTER",
    "junit": "ferrule.definitions.reporters.junit:REPORTER",
}
