"""Engine: the ledger's rows -> the events of a call, and its whole story. Pure: it is given rows and reads nothing.

`order.py` puts what one row tells into one line, `expand.py` makes events of it, `replay.py` makes a call's history of
events again, `story.py` tells one call to a person.
"""
