"""Any dialect or format to any other, with a report of what got lost."""
