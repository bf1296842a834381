"""What happens to a task: its states, the events that change them, how its runs start and end."""
