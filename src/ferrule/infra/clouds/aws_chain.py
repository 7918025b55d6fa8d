"""The AWS library's own search for the identity of this process: variables, profiles, web identity, containers, machines.

Works in a thread, for it reads files and asks the metadata service. It speaks for the operator, not for a definition, so it
does not go through the guard of the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ferrule.infra.drivers import load_driver

_WEB_IDENTITY = {
    "web_identity_token_file": "AWS_WEB_IDENTITY_TOKEN_FILE",
    "role_arn": "AWS_ROLE_ARN",
    "role_session_name": "AWS_ROLE_SESSION_NAME",
}


def session_of(env: Mapping[str, str]) -> Any:
    """A session of the library that knows the variables given, where they differ from those of the process."""
    session = load_driver("botocore.session").Session()
    variables: Mapping[str, tuple[Any, Any, Any, Any]] = session.session_var_map
    for name, (_, names, _, _) in dict(variables).items():
        for variable in [names] if isinstance(names, str) else names or ():
            if variable in env:
                session.set_config_variable(name, env[variable])
                break
    return session


def credentials_of(session: Any, env: Mapping[str, str]) -> Any | None:
    """The credentials that the library's chain finds first; None when it finds none. Blocks."""
    known = load_driver("botocore.credentials")
    found = known.EnvProvider(environ=env).load()
    if found is not None:
        return found
    chain = session.get_component("credential_provider")
    if env.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        said = {name: env[variable] for name, variable in _WEB_IDENTITY.items() if env.get(variable)}
        provider = known.AssumeRoleWithWebIdentityProvider(
            load_config=lambda: {"profiles": {"given": said}},
            client_creator=session.create_client,
            profile_name="given",
            cache={},
            disable_env_vars=True,
        )
        chain.insert_before("assume-role-with-web-identity", provider)
    chain.remove("container-role")
    chain.insert_before("iam-role", known.ContainerProvider(environ=env))
    if env.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        chain.remove("iam-role")
    return chain.load_credentials()


def region_of(session: Any, env: Mapping[str, str]) -> str | None:
    """The region this process works in, as variables or the profile say it."""
    return env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or session.get_config_variable("region") or None
