"""The examination behind `ferrule doctor`: whether each tool and the workspace would work, found out without a call.

It imports `app`, `workspace`, `access` and the layers below. It does not know how findings are shown.
"""
