"""Sources of secret values, one file each; `builtin.py` lists them.

They implement `contracts/secrets.py` and import `infra/clouds`, `infra/network` and `model`. They do not know what a
secret is for.
"""
