"""Message queues: a call becomes a message, and the reply, if one is wanted, finds its parked call."""
