"""Time Warp, the mechanism of the `root-sim` scheduler. PROTOCOL.md here tells why it is right."""
