"""What stubs in Python are copied together with."""
