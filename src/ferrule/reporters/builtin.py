"""The output formats that come with Ferrule, by the word after `--format`."""

REPORTERS = {
    "text": "ferrule.reporters.text:REPORTER",
    "json": "ferrule.reporters.json:REPORTER",
    "sarif": "ferrule.reporters.sarif:REPORTER",
    "github": "ferrule.reporters.github:REPORTER",
    "junit": "ferrule.reporters.junit:REPORTER",
}
