"""The table of secret sources. A source gets the environment and the clouds when its first secret is read."""

SOURCES = {
    "env": "ferrule.infra.secrets.env:EnvironmentSource",
    "aws_secrets_manager": "ferrule.infra.secrets.aws:AwsSource",
    "gcp_secret_manager": "ferrule.infra.secrets.gcp:GcpSource",
    "azure_key_vault": "ferrule.infra.secrets.azure:AzureSource",
}
