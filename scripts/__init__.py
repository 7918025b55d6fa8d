"""What the Makefile runs besides the tools: documentation, skeletons, the demo."""
