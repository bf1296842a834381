"""The tallies of the loop: counted in each tick, kept in the store, read by every process that shows them."""
