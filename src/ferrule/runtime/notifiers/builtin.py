"""The notifiers that come with Ferrule, by the word after `kind =` in `[[approval.notify]]`.

Each entry builds the live part from its settings: a function of `client` (the guarded HTTP client), `url` and `secret`.
"""

NOTIFIERS = {
    "webhook": "ferrule.runtime.notifiers.webhook:WebhookNotifier",
}
GROUP = "ferrule.notifiers"
"""The entry-point group of other packages' notifiers."""
