"""Reports of live runs to the service, and notices to them."""
