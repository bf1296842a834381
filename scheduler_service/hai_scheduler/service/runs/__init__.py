"""What live runs report to the service, and what it tells them."""
