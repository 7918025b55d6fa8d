"""Tools of a surface as objects of agent frameworks, one module per framework. Public.

Top layer: it imports `app`, `definitions/formats` and `model`, and each module its own framework. It does not know
servers, commands or the other frameworks.
"""
