"""Access to AWS, Azure and Google Cloud: identity (role, key, token) and one signed request. Secrets, functions, queues
and databases share it.

It imports `infra/network`, `contracts` and `model`. It does not know which tool a request belongs to.
"""
