"""Makes generations: resolves, installs, describes, seals and publishes."""
