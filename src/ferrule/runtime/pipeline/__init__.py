"""One call to one terminal result: the thirteen phases and what carries a call through them."""
