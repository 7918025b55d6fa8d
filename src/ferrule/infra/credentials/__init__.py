"""Engine: what a definition says about credentials, turned into what is shown to the other side. Values are never stored here
longer than a bounded time, and the redactor knows them first."""
