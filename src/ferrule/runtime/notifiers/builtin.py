"""The notifiers that come with Ferrule, by the word after `kind =` in `[[approval.notify]]`.

Each entry makes the live part from its settings: a function of `client` (the guarded HTTP client), `url` and
`secret`.
"""

NOTIFIERS = {
    "webhook": "ferrule.runtime.notifiers.webhook:WebhookNotifier",
}
GROUP = "ferrule.notifiers"
"""Where other packages register theirs."""
