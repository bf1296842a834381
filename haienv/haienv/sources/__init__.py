"""What environments can be made from: the files in which projects say what they need."""
