"""Cloud functions: AWS Lambda, and functions of Google Cloud and Azure over HTTP."""
