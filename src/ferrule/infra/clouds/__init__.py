"""How the three clouds are spoken to: who we are there (role, key, token), and one signed request. Used by secrets, functions,
queues and databases alike."""
