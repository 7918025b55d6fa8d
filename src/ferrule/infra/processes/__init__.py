"""Programs outside the process: started without a shell, confined, listened to, and ended with everything they started."""
