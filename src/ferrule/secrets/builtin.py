"""The places secrets come from. A source gets the environment and the clouds, when its first secret is asked for."""

SOURCES = {
    "env": "ferrule.secrets.env:EnvironmentSource",
    "aws_secrets_manager": "ferrule.secrets.aws:AwsSource",
    "gcp_secret_manager": "ferrule.secrets.gcp:GcpSource",
    "azure_key_vault": "ferrule.secrets.azure:AzureSource",
}
