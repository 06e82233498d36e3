"""Aircraft: navigation and collision avoidance on routes from real flight data."""
