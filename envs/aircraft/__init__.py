"""Aircraft: navigation and collision avoidance on real routes."""
