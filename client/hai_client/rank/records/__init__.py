"""What is kept of a rank: its log, its status, its reports, its metrics and recordings."""
