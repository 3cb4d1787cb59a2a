"""What an operator touches: settings, embedded services, commands, pages and the HTTP API."""
