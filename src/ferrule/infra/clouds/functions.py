"""The addresses of cloud functions, from the names that definitions use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import bearer_headers, reach, read_json_object, status_failure
from ferrule.infra.clouds.azure import Azure
from ferrule.infra.clouds.gcp import Gcp
from ferrule.infra.network.client import Client, Fetched
from ferrule.model.value import JsonObject

_GOOGLE = "https://cloudfunctions.googleapis.com"
_GOOGLE_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDFUNCTIONS"
_AZURE = "https://management.azure.com"
_AZURE_VARIABLE = "AZURE_RESOURCE_MANAGER_URL"
_AZURE_API = "2023-12-01"
_GOOGLE_NAME = re.compile(r"(projects/[A-Za-z0-9.:_-]+)(?:/locations/([A-Za-z0-9_-]+))?/functions/([A-Za-z0-9_-]+)")
_AZURE_NAME = re.compile(r"/subscriptions/[A-Za-z0-9._()/-]+/sites/[A-Za-z0-9_-]+/functions/[A-Za-z0-9_.-]+", re.I)


class AzureFunction(NamedTuple):
    """The address and the key of a function of an Azure function app."""

    url: str
    key: str
    """For the header `x-functions-key`; secret."""

    def __repr__(self) -> str:
        return f"AzureFunction({self.url!r})"


async def find_google_function(
    gcp: Gcp, client: Client, env: Mapping[str, str], name: str, account: Mapping[str, object] | None = None
) -> str:
    """Returns the address of `projects/P/locations/L/functions/F`, which is also the audience of its identity tokens.
    Without `locations/L` it searches all locations."""
    named = _GOOGLE_NAME.fullmatch(name)
    if named is None:
        raise ExecutionFailed(
            "setup_required", f"{name!r} is no function of Google Cloud: write projects/P/locations/L/functions/F"
        )
    place = f"{named[1]}/locations/{named[2] or '-'}/functions"
    token = await gcp.access_token(account)
    url = f"{(env.get(_GOOGLE_VARIABLE) or _GOOGLE).rstrip('/')}/v2/{place}"
    what = f"the function {name!r}"
    said = _read_answer(
        what, await reach(client, what, "GET", f"{url}/{named[3]}" if named[2] else url, bearer_headers(token))
    )
    if not named[2]:
        said = _pick_function(what, said.get("functions"), named[3])
    service = said.get("serviceConfig")
    found = (service.get("uri") if isinstance(service, dict) else None) or said.get("url")
    if not isinstance(found, str):
        raise ExecutionFailed(
            "setup_required", f"{what} has no address: only functions with an HTTP trigger can be called"
        )
    return found


def _pick_function(what: str, listed: object, name: str) -> JsonObject:
    functions = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = [one for one in functions if str(one.get("name")).rpartition("/")[2] == name]
    if len(found) != 1:
        where = "in several locations" if found else "in no location"
        raise ExecutionFailed("setup_required", f"{what} is {where}; write projects/P/locations/L/functions/F")
    return found[0]


async def find_azure_function(
    azure: Azure,
    client: Client,
    env: Mapping[str, str],
    resource: str,
    account: Mapping[str, Any] | None = None,
    *,
    learn: Any = None,
) -> AzureFunction:
    """Returns the address and the key of `/subscriptions/…/sites/APP/functions/F`. `learn` teaches the redactor the
    key."""
    if not _AZURE_NAME.fullmatch(resource) or ".." in resource:
        raise ExecutionFailed(
            "setup_required", f"{resource!r} is no function of Azure: write /subscriptions/…/sites/APP/functions/F"
        )
    manager = (env.get(_AZURE_VARIABLE) or _AZURE).rstrip("/")
    token = await azure.token(account, f"{manager}/.default")
    what, query = f"the function {resource.rpartition('/')[2]!r}", f"?api-version={_AZURE_API}"
    said = _read_answer(what, await reach(client, what, "GET", f"{manager}{resource}{query}", bearer_headers(token)))
    properties = said.get("properties")
    url = properties.get("invoke_url_template") if isinstance(properties, dict) else None
    if not isinstance(url, str):
        raise ExecutionFailed(
            "setup_required", f"{what} has no address: only functions with an HTTP trigger can be called"
        )
    keys = _read_answer(
        what, await reach(client, what, "POST", f"{manager}{resource}/listKeys{query}", bearer_headers(token))
    )
    key = keys.get("default")
    key = key if isinstance(key, str) else ""
    if key and learn is not None:
        learn("Azure function key", key)
    return AzureFunction(url, key)


def _read_answer(what: str, fetched: Fetched) -> JsonObject:
    if fetched.status == 200:
        return read_json_object(fetched.body)
    raise status_failure(f"{what} cannot be found out about: the cloud answered {fetched.status}", fetched)
