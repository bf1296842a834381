"""What runs say and are told while they last."""
